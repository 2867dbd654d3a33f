"""Bytes from anywhere to text: which character encoding a page is really in.

Browsers believe a byte order mark, then the HTTP header, then a declaration in the markup. So does this
module, with two corrections for declarations that lie, because a page read in the wrong encoding loses its
words: bytes that are flawless UTF-8 and not mere ASCII are UTF-8, whatever is claimed (text in another
encoding is flawless UTF-8 by accident only when it is a few letters long), and "UTF-8" whose non-ASCII part
is mostly broken is windows-1252.
"""

import codecs
import re

_PRESCAN_BYTES = 4096
"""Where a declaration in the markup is looked for; browsers look at 1024 bytes or more."""

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_LABELS = {
    # A closed list: Python would also take "zip", "rot13" or "punycode", which are not all harmless.
    # browsers read a label as a larger relative of what it names, so does this table.
    "utf-8": "utf-8 utf8 unicode-1-1-utf-8 x-unicode20utf8",
    "utf-16-le": "utf-16 utf-16le unicode ucs-2 iso-10646-ucs-2",
    "utf-16-be": "utf-16be",
    "cp1252": "windows-1252 cp1252 x-cp1252 iso-8859-1 iso8859-1 iso_8859-1 latin1 l1 ascii us-ascii cp819",
    "cp1250": "windows-1250 cp1250 x-cp1250",
    "cp1251": "windows-1251 cp1251 x-cp1251",
    "cp1253": "windows-1253 cp1253 x-cp1253",
    "cp1254": "windows-1254 cp1254 x-cp1254 iso-8859-9 iso8859-9 iso_8859-9 latin5 l5",
    "cp1255": "windows-1255 cp1255 x-cp1255",
    "cp1256": "windows-1256 cp1256 x-cp1256",
    "cp1257": "windows-1257 cp1257 x-cp1257",
    "cp1258": "windows-1258 cp1258 x-cp1258",
    "cp874": "windows-874 tis-620 dos-874 iso-8859-11 iso8859-11",
    "iso8859-2": "iso-8859-2 iso8859-2 iso_8859-2 latin2 l2",
    "iso8859-3": "iso-8859-3 iso8859-3 iso_8859-3 latin3 l3",
    "iso8859-4": "iso-8859-4 iso8859-4 iso_8859-4 latin4 l4",
    "iso8859-5": "iso-8859-5 iso8859-5 iso_8859-5 cyrillic",
    "iso8859-6": "iso-8859-6 iso8859-6 iso_8859-6 arabic",
    "iso8859-7": "iso-8859-7 iso8859-7 iso_8859-7 greek",
    "iso8859-8": "iso-8859-8 iso8859-8 iso_8859-8 hebrew visual iso-8859-8-i logical",
    "iso8859-10": "iso-8859-10 iso8859-10 latin6 l6",
    "iso8859-13": "iso-8859-13 iso8859-13",
    "iso8859-14": "iso-8859-14 iso8859-14",
    "iso8859-15": "iso-8859-15 iso8859-15 iso_8859-15 latin9 l9",
    "iso8859-16": "iso-8859-16",
    "koi8-r": "koi8-r koi8 koi",
    "koi8-u": "koi8-u koi8-ru",
    "cp866": "ibm866 cp866 866",
    "mac-roman": "macintosh mac x-mac-roman",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "gb18030": "gb18030 gbk gb2312 gb_2312-80 x-gbk chinese",
    "big5hkscs": "big5 big5-hkscs cn-big5 x-x-big5",
    "cp932": "shift_jis shift-jis sjis x-sjis ms_kanji windows-31j ms932",
    "euc-jp": "euc-jp x-euc-jp",
    "iso2022-jp": "iso-2022-jp",
    "cp949": "euc-kr ks_c_5601-1987 ksc5601 ksc_5601 korean windows-949",
}
_CODECS = {label: codec for codec, labels in _LABELS.items() for label in labels.split()}

_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:-]+)", re.ASCII | re.IGNORECASE)
_COMMENT = re.compile(r"<!--.*?(?:-->|$)", re.DOTALL)
_META = re.compile(r"<meta\s[^>]*?" + _CHARSET.pattern, re.ASCII | re.IGNORECASE)
_XML = re.compile(r"^\s*<\?xml\s[^>]*?encoding\s*=\s*[\"']([\w.:-]+)", re.ASCII | re.IGNORECASE)


def decode(data: bytes, *, content_type: str | None = None) -> str:
    """Return the text of a page; bytes that mean nothing become U+FFFD, so this never fails.

    >>> decode("na\u00efve".encode(), content_type="text/html; charset=iso-8859-1")
    'na\u00efve'
    """
    for mark, codec in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(codec, "replace")
    declared = _from_header(content_type) or _from_markup(data)
    if declared != "utf-8" and (data.isascii() or not _is_utf8(data)):
        return data.decode(declared or "cp1252", "replace")
    text = data.decode("utf-8", "replace")
    return data.decode("cp1252", "replace") if _mostly_broken(text) else text


def _from_header(content_type: str | None) -> str | None:
    found = _CHARSET.search(content_type or "")
    return _CODECS.get(found[1].lower()) if found else None


def _from_markup(data: bytes) -> str | None:
    start = _COMMENT.sub("", data[:_PRESCAN_BYTES].decode("latin-1"))
    found = _META.search(start) or _XML.search(start)
    codec = _CODECS.get(found[1].lower()) if found else None
    # Whoever can read an ASCII declaration is not reading UTF-16.
    return "utf-8" if codec in ("utf-16-le", "utf-16-be") else codec


def _is_utf8(data: bytes) -> bool:
    """Say whether the bytes are flawless UTF-8, of which the end may have been cut off."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, final=False)
    except UnicodeDecodeError:
        return False
    return True


def _mostly_broken(text: str) -> bool:
    if text.isascii():
        return False
    broken = text.count("\N{REPLACEMENT CHARACTER}")
    whole = len(text) - len(text.encode("ascii", "ignore")) - broken
    return broken > whole
