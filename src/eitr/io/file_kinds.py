"""What kind of file some bytes are, by how they begin: for messages about files that are not what was expected."""

import codecs

_SIGNATURES = (
    (b"%PDF-", "a PDF document"),
    (b"\x89PNG\r\n", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"RIFF", "an image, sound or film"),
    (b"\x00\x00\x01\x00", "an icon"),
    (b"PK\x03\x04", "a ZIP archive or office document"),
    (b"\x1f\x8b", "compressed data"),
    (b"BZh", "compressed data"),
    (b"\xfd7zXZ\x00", "compressed data"),
    (b"\x28\xb5\x2f\xfd", "compressed data"),
    (b"\xd0\xcf\x11\xe0", "an office document"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90\x00", "a program"),
    (b"\x00asm", "a program"),
    (b"ID3", "sound"),
    (b"OggS", "sound or film"),
    (b"\x1aE\xdf\xa3", "a film"),
    (b"wOF", "a font"),
    (b"SQLite format 3\x00", "a database"),
)


def kind_of(data: bytes) -> str | None:
    """Return what a file is that begins like this, with an article; nothing where it may be text.

    >>> kind_of(b"%PDF-1.7")
    'a PDF document'
    """
    return next((name for signature, name in _SIGNATURES if data.startswith(signature)), None)


def is_utf16(data: bytes) -> bool:
    """Say whether a text that begins like this is UTF-16, with or without a byte order mark.

    >>> is_utf16("{}".encode("utf-16-le")), is_utf16(b"{}")
    (True, False)
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return True
    # Every other byte of Latin letters is zero.
    return len(data) >= 2 and (data[0] == 0) != (data[1] == 0)
