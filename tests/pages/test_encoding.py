import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eitr.pages.encoding import _LABELS, decode

GERMAN = "<p>Die Ärzte grüßen Zürich</p>"
RUSSIAN = "<p>Выборы президента</p>"


@pytest.mark.parametrize("codec", ["utf-8", "utf-16-le", "utf-16-be"])
def test_a_byte_order_mark_beats_every_declaration(codec: str) -> None:
    mark = "\ufeff".encode(codec)
    assert decode(mark + RUSSIAN.encode(codec), content_type="text/html; charset=koi8-r") == RUSSIAN


def test_the_header_beats_the_markup() -> None:
    data = ("<meta charset=windows-1251>" + RUSSIAN).encode("koi8-r")
    assert decode(data, content_type='text/html; Charset="KOI8-R"').endswith(RUSSIAN)


@pytest.mark.parametrize(
    "declaration",
    [
        "<meta charset=windows-1251>",
        "<META CHARSET = 'Windows-1251' >",
        '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">',
        "<!-- <meta charset=koi8-r> --><meta charset=cp1251>",
        '<?xml version="1.0" encoding="windows-1251"?>',
    ],
)
def test_a_declaration_in_the_markup_is_believed(declaration: str) -> None:
    assert decode((declaration + RUSSIAN).encode("cp1251")) == declaration + RUSSIAN


def test_without_a_declaration_utf8_is_tried_first() -> None:
    assert decode(RUSSIAN.encode()) == RUSSIAN


def test_without_a_declaration_other_bytes_are_western() -> None:
    assert decode(GERMAN.encode("cp1252")) == GERMAN


@pytest.mark.parametrize("lie", ["iso-8859-1", "windows-1251", "shift_jis", "utf-16", "gb2312"])
def test_flawless_utf8_is_utf8_whatever_the_header_says(lie: str) -> None:
    assert decode(RUSSIAN.encode(), content_type=f"text/html; charset={lie}") == RUSSIAN


def test_western_text_that_claims_to_be_utf8_is_still_read() -> None:
    assert decode(GERMAN.encode("cp1252"), content_type="text/html; charset=utf-8") == GERMAN


def test_one_broken_byte_does_not_turn_utf8_into_something_else() -> None:
    assert decode(RUSSIAN.encode() + b"\xff", content_type="text/html; charset=utf-8") == RUSSIAN + "\ufffd"


def test_utf8_cut_off_within_a_character_is_still_utf8() -> None:
    assert decode("Выборы".encode()[:-1], content_type="text/html; charset=latin1") == "Выбор\ufffd"


def test_a_seven_bit_encoding_is_not_mistaken_for_ascii() -> None:
    assert decode("日本語".encode("iso2022-jp"), content_type="text/html; charset=iso-2022-jp") == "日本語"


def test_markup_that_claims_to_be_utf16_is_not() -> None:
    assert decode(("<meta charset=utf-16>" + GERMAN).encode()).endswith(GERMAN)


@pytest.mark.parametrize("label", ["zip", "rot13", "punycode", "unicode_escape", "utf-7", "x", "base64"])
def test_labels_that_only_python_knows_are_ignored(label: str) -> None:
    assert decode(b"caf\xe9", content_type=f"text/html; charset={label}") == "café"


def test_every_codec_of_the_table_exists() -> None:
    assert all(codecs.lookup(codec) for codec in _LABELS)


@given(st.binary(), st.sampled_from([None, *(f"text/html; charset={codec}" for codec in _LABELS)]))
def test_any_bytes_decode(data: bytes, content_type: str | None) -> None:
    text = decode(data, content_type=content_type)
    assert text.encode().decode() == text  # no lone surrogate, which nothing further on could encode
