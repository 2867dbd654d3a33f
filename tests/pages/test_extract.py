import pytest
from hypothesis import given
from hypothesis import strategies as st

from eitr.errors import InputError
from eitr.pages import Page
from eitr.pages.extract import extract


def text(markup: str) -> str:
    return extract(markup).text


def test_a_whole_page() -> None:
    page = extract(
        b"""<!DOCTYPE html><html><head><meta charset="utf-8">
        <title>Hay  fever &amp;
        you</title>
        <meta name="Description" content="What helps  against pollen">
        <meta name="keywords" content="pollen, allergy">
        <script>var hidden = "<p>no</p>";</script><style>p { color: red }</style></head>
        <body><h1>Hay fever</h1><p>Itch<b>ing</b> eyes<br>and a cold.</p></body></html>"""
    )
    assert page == Page(
        title="Hay fever & you",
        description="What helps against pollen",
        keywords="pollen, allergy",
        text="Hay fever\nItching eyes\nand a cold.",
    )


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>no</script>",
        "<style>no</style>",
        "<template><p>no</p></template>",
        "<noscript><p>no</p></noscript>",
        "<p hidden>no</p>",
        "<div hidden=''><p>no<div>no</div></p></div>",
        "<p style='display:none'>no</p>",
        "<p style='color:red; DISPLAY : NONE !important;'>no</p>",
        "<p style='display:block;display:none'>no</p>",
        "<p style='visibility:hidden'>no</p>",
        "<p style='visibility:hidden'><b>no</b></p>",
        "<details><p>no</p>no</details>",
        "<details><p><summary>no</summary></p></details>",
        "<dialog>no</dialog>",
        "<textarea>no</textarea>",
        "<iframe>no</iframe>",
        "<video>no</video>",
        "<canvas>no</canvas>",
        "<datalist><option>no</datalist>",
        "<svg><title>no</title><defs><text>no</text></defs></svg>",
        "<!-- no -->",
        "<p title=no>",
        "<input value=no>",
        "<img alt=no>",
    ],
)
def test_what_a_reader_does_not_see_is_left_out(hidden: str) -> None:
    assert text(f"<p>before</p>{hidden}<p>after</p>") == "before\nafter"


@pytest.mark.parametrize(
    ("markup", "seen"),
    [
        ("<div hidden style='display:block'>yes</div>", "yes"),
        ("<div style='display:none;display:block'>yes</div>", "yes"),
        ("<div style='visibility:hidden'>no<b style='visibility:visible'>yes</b>no</div>", "yes"),
        ("<details open><p>yes</p></details>", "yes"),
        ("<details>no<summary>yes</summary>no<summary>no</summary></details>", "yes"),
        ("<dialog open><h1>yes</h1></dialog>", "yes"),
        ("<ul><li hidden>no<li>yes</ul>", "yes"),
        ("<p hidden>no<p>yes", "yes"),
        ("<select><option>yes<option>too</select>", "yes\ntoo"),
        ("<svg><text>yes</text></svg>", "yes"),
        ("<p style=';;:;display'>yes</p>", "yes"),
    ],
)
def test_what_a_reader_sees_is_kept(markup: str, seen: str) -> None:
    assert text(markup) == seen


@pytest.mark.parametrize(
    ("markup", "seen"),
    [
        ("un<b>believ</b>able", "unbelievable"),
        ("one<i></i>word", "oneword"),
        ("hy<wbr>phen", "hyphen"),
        ("<div>two</div><div>words</div>", "two\nwords"),
        ("two<br>words", "two\nwords"),
        ("<table><tr><td>two<td>words</table>", "two\nwords"),
        ("<button>two</button><button>words</button>", "two\nwords"),
        ("two<span style='display:block'>words</span>", "two\nwords"),
        ("<div style='display:inline'>one</div><div style='display:inline-block'>word</div>", "oneword"),
        ("  much \n\n space&nbsp;here ", "much space here"),
    ],
)
def test_blocks_separate_words_and_inline_elements_do_not(markup: str, seen: str) -> None:
    assert text(f"<body>{markup}</body>") == seen


@pytest.mark.parametrize(
    ("head", "title"),
    [
        ("<title>Fever</title>", "Fever"),
        ("<meta property='og:title' content='Fever'>", "Fever"),
        ("<title>Fever - Site</title><meta property='og:title' content='Fever'>", "Fever - Site"),
        ("<title>Fever</title><meta name='og:title' content='Fever and cold'>", "Fever and cold"),
        ("<title>Fever</title><meta property='og:title' content='Cold'>", "Fever\nCold"),
        ("<title>Fever</title><title>Cold</title>", "Fever"),
        ("<svg><title>Icon</title></svg><title>Fever</title>", "Fever"),
        ("<title></title><title>Fever</title>", "Fever"),
    ],
)
def test_titles_are_merged_without_saying_things_twice(head: str, title: str) -> None:
    assert extract(head).title == title


def test_descriptions_are_merged_and_the_first_that_is_not_empty_counts() -> None:
    page = extract(
        "<meta name=description content=' '><meta name=description content=First>"
        "<meta name=description content=Second><meta property='dc:x og:description' content=Other>"
        "<meta name=description><noscript><meta name=keywords content=no></noscript>"
    )
    assert page == Page(description="First\nOther")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "nothing in it"),
        (b" \n\0\t ", "nothing in it"),
        ("", "nothing in it"),
        (b"%PDF-1.7\n", "PDF"),
        (b"\x89PNG\r\n\x1a\n....", "image"),
        (b"\xff\xd8\xff\xe0....", "image"),
        (b"GIF89a....", "image"),
        (b"PK\x03\x04....", "ZIP"),
        (b"\x1f\x8b\x08....", "compressed"),
        (bytes(range(256)) * 8, "not text"),
    ],
)
def test_what_is_no_page_is_refused_in_one_line(data: bytes | str, why: str) -> None:
    with pytest.raises(InputError, match=f"^not a page: .*{why}"):
        extract(data)


@pytest.mark.parametrize("kind", ["application/pdf", "IMAGE/PNG; charset=utf-8", "application/json"])
def test_a_content_type_that_is_no_page_is_refused(kind: str) -> None:
    with pytest.raises(InputError, match="content type"):
        extract(b"<p>text", content_type=kind)


@pytest.mark.parametrize("kind", ["text/html", "application/xhtml+xml", "application/octet-stream", "", None])
def test_a_content_type_that_may_be_a_page_is_read(kind: str | None) -> None:
    assert extract(b"<p>text", content_type=kind).text == "text"


def test_plain_text_is_not_read_as_markup() -> None:
    assert extract(b"if a <b then", content_type="text/plain") == Page(text="if a <b then")


def test_null_bytes_vanish_even_within_tags() -> None:
    assert text("<p\0>vac\0cine</\0p>") == "vaccine"


def test_utf16_without_a_mark_is_read() -> None:
    assert extract("<p>vaccine</p>".encode("utf-16-le")).text == "vaccine"


def test_half_a_surrogate_pair_in_a_string_does_no_harm() -> None:
    assert text("<p>a\ud800b \ud83d\ude00</p>") == "a\ufffdb 😀"


def test_text_without_any_markup_is_a_page() -> None:
    assert extract(b"just words").text == "just words"


PIECES = """
    <p> </p> <b> </b> <div> </div> <div\thidden> <details> </details> <summary> </summary> <svg> </svg>
    <title> </title> <script> </script> <!-- --> <table> <tr> <td> </table> <select> <option> </body> </html>
    <body> <html> <head> </head> <meta\tname=description\tcontent=x> < > & &amp; &#0; <p\tstyle=display:none>
    <br/> </br> <frameset> <![CDATA[ ]]> <?x <!DOCTYPE <a:b> <math> <template> <noscript> </noscript> word \0 é
"""
MARKUP = st.lists(st.sampled_from(PIECES.replace("\n", " ").strip().split(" "))).map("".join)


def content_or_error(data: bytes | str) -> str:
    try:
        return extract(data).content()
    except InputError as error:
        return str(error)


@given(MARKUP)
def test_any_markup_gives_a_page_or_one_clear_error(markup: str) -> None:
    assert len(content_or_error(markup)) <= 2 * len(markup) + 100


@given(st.binary())
def test_any_bytes_give_a_page_or_one_clear_error(data: bytes) -> None:
    assert len(content_or_error(data)) <= 2 * len(data) + 100
