"""Lists of pages come from anywhere: mistakes are told with their lines, and nothing is imported half."""

import gzip
from pathlib import Path

import pytest
from sqlalchemy import select

from eitr.errors import InputError
from eitr.pages.extract import extract
from eitr.server.db.study_tables import StudyPageRow
from eitr.server.domain.errors import DomainError
from eitr.server.domain.study import pages_list
from eitr.server.domain.study.archived_copy import HEADERS, harmless
from eitr.server.domain.study.pages_list import PageListError, read_pages
from tests.server.study.world import SLUG, World, page_list


def read(tmp_path: Path, content: str | bytes, **options: object) -> list[pages_list.ListedPage]:
    path = tmp_path / "pages.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_pages(path, **options)  # type: ignore[arg-type]


def test_topic_and_truth_are_optional_and_the_rest_is_read_as_it_stands(tmp_path: Path) -> None:
    found = read(tmp_path, 'truth,url,topic\nhealth,https://a.example/1?x=1,"masks, or not"\n,http://b.example/ü,\n')
    assert [(page.url, page.topic, page.truth) for page in found] == [
        ("https://a.example/1?x=1", "masks, or not", "health"),
        ("http://b.example/%C3%BC", None, None),
    ]
    packed = tmp_path / "pages.csv.gz"
    packed.write_bytes(gzip.compress(b"\xef\xbb\xbfurl\nhttps://a.example/1\n"))
    assert [page.url for page in read_pages(packed)] == ["https://a.example/1"]


def test_all_mistakes_are_told_with_their_lines(tmp_path: Path) -> None:
    rows = [
        "url,truth",
        "https://a.example/1,health",
        "ftp://a.example/2,",
        "https://a.example/1,",
        "https://a.example/4,sport",
        "https://ann:secret@a.example/5,",
        "https://a.example/6",
        f"https://a.example/{'x' * 2000},",
        "javascript:alert(1),",
        "http://[::1,",
        "http:///nowhere,",
        "https://a.example/a b,",
    ]
    with pytest.raises(PageListError) as caught:
        read(tmp_path, "\n".join(rows))
    told = caught.value.errors
    lines = [int(error.partition(": line ")[2].split()[0].rstrip(":")) for error in told]
    assert lines == [3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    for place, word in enumerate(["http", "line 2", "sport", "password", "fields", "longer", "http"]):
        assert word in told[place], told[place]
    assert "secret" not in str(caught.value)


NO_HOSTS = (
    *("www.example.org%20", "%41.org", "a|b.org", "foo<bar>.org", "a^b.org", "a\\b.org", "xn--a", "xn--", "\u00ad"),
    *("256.256.256.256", "1.2.3.4.5", "1.2.3", "0x7f.1", "09.1.1.1", "a.1", "a.0x", "[::1%25eth0]", "１.2.3.999"),
)


@pytest.mark.parametrize("host", NO_HOSTS)
def test_hosts_that_no_browser_would_ask_are_refused(tmp_path: Path, host: str) -> None:
    with pytest.raises(PageListError, match=r"line 2 has .*(host|not an address)"):
        read(tmp_path, f"url\nhttp://{host}/\n")


@pytest.mark.parametrize(
    ("url", "stored"),
    [
        ("https://a.example", "https://a.example/"),
        ("HTTPS://A.Example/B?C=D", "https://a.example/B?C=D"),
        ("https://a.example:443/", "https://a.example/"),
        ("http://a.example:80", "http://a.example/"),
        ("http://a.example:443/", "http://a.example:443/"),
        ("https://a.example?x=1", "https://a.example/?x=1"),
        ("https://my_blog.r3---sn.example/", "https://my_blog.r3---sn.example/"),
        ("http://Straße.example/ü", "http://xn--strae-oqa.example/%C3%BC"),
        ("http://a.example/b/./../%2e%2E/c^{}'?ü='", "http://a.example/c%5E%7B%7D'?%C3%BC=%27"),
        ("http://a.example/b/..?", "http://a.example/?"),
        ("http://日本。example/", "http://xn--wgv71a.example/"),
        ("http://☃.example/", "http://xn--n3h.example/"),
        ("http://i❤.example/", "http://xn--i-7iq.example/"),
        ("http://my_bücher.example/", "http://xn--my_bcher-95a.example/"),
        ("http://xn--ls8h.example/", "http://xn--ls8h.example/"),
        ("http://１２７.0.0.1:8000/", "http://127.0.0.1:8000/"),
        ("http://[2001:DB8:0::1]:80/", "http://[2001:db8::1]/"),
    ],
)
def test_addresses_are_stored_in_one_form(tmp_path: Path, url: str, stored: str) -> None:
    assert [page.url for page in read(tmp_path, f"url\n{url}\n")] == [stored]
    if url != stored:
        with pytest.raises(PageListError, match="line 3 has the same url as line 2"):
            read(tmp_path, f"url\n{url}\n{stored}\n")


@pytest.mark.parametrize("host", [".".join(["ü"] * 400), ".".join(["a"] * 130), "❤" * 60])
def test_an_address_that_is_too_long_in_the_form_it_is_stored_in_is_refused(tmp_path: Path, host: str) -> None:
    with pytest.raises(PageListError, match=r"line 2 has a url (that is longer|whose host)"):
        read(tmp_path, f"url\nhttp://{host}.example/\n")


def test_a_page_that_an_older_version_stored_in_another_form_is_the_same_page(small_world: World, tmp_path) -> None:
    small_world.study(1)
    for older in ("https://www.who.int", "http://no host/"):
        with small_world.database.writing() as session:
            session.scalars(select(StudyPageRow)).one().url = older
        path = tmp_path / "list.csv"
        path.write_text("url,truth\nhttps://www.who.int/,health\n" if "who" in older else "url\nhttps://b.example/\n")
        done = small_world.studies.pages.import_file(SLUG, path, who="ada")
        assert (done.added, done.changed) == ((0, 1) if "who" in older else (1, 0))
    assert [page.truth for page in small_world.studies.pages.all(SLUG)] == ["health", None]


def test_a_fragment_is_refused_as_a_task_is_a_whole_page(tmp_path: Path) -> None:
    with pytest.raises(PageListError, match="line 2 has a url with a fragment"):
        read(tmp_path, "url\nhttps://a.example/#masks\nhttps://a.example/\n")


def test_a_page_that_is_written_in_another_way_is_the_one_that_is_there(small_world: World, tmp_path: Path) -> None:
    small_world.study(3)
    (tmp_path / "again.csv").write_text("url,truth\nHTTPS://Pages.Example:443/1,politics\n")
    done = small_world.studies.pages.import_file(SLUG, tmp_path / "again.csv", who="ada")
    assert (done.added, done.changed) == (0, 1)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "first line"),
        (b"url\n", "no pages"),
        (b"address\nhttps://a.example/\n", "no column url"),
        (b"url,colour\nhttps://a.example/,red\n", "colour"),
        ("url\nhttps://a.example/\n".encode("utf-16"), "UTF-16"),
        ("url,topic\nhttps://a.example/,Gerücht\n".encode("latin-1"), "line 2 .*UTF-8"),
        (b'url\n"https://a.example/\n' + b"x\n" * 100, "never closed"),
        (b"url\n" + b"x" * (pages_list.LARGEST_FILE + 10), "line 2|bytes"),
        (b"url\n" + b"https://a.example/\n" * 500_000, "more than 20000 pages"),
        (b"\x00\x01\x02" * 50, "UTF-16"),
        (b"url,copy\nhttps://a.example/,a.html\n", "no folder of copies"),
    ],
)
def test_what_is_no_list_of_pages_is_refused_in_words(tmp_path: Path, content: bytes, told: str) -> None:
    with pytest.raises(InputError, match=told):
        read(tmp_path, content)


def test_a_bomb_of_gzip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pages.csv.gz"
    path.write_bytes(gzip.compress(b"url\n" + b"x" * (100 << 20)))
    assert path.stat().st_size < 1 << 20
    with pytest.raises(InputError, match="bytes"):
        read_pages(path)


def test_more_pages_than_a_study_takes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages_list, "MOST_PAGES", 50)
    assert len(read_pages(page_list(tmp_path / "fifty.csv", 50))) == 50
    with pytest.raises(InputError, match="more than 50"):
        read_pages(page_list(tmp_path / "many.csv", 51))


def test_an_import_changes_all_or_nothing(world: World, tmp_path: Path) -> None:
    world.study(10)
    path = tmp_path / "more.csv"
    path.write_text("url,truth\nhttps://pages.example/3,politics\nhttps://new.example/,\nnonsense,\n")
    with pytest.raises(PageListError):
        world.studies.pages.import_file(SLUG, path, who="ada")
    assert world.count(StudyPageRow) == 10
    assert world.count(StudyPageRow, StudyPageRow.truth == "politics") == 2
    path.write_text("url,truth\nhttps://pages.example/3,politics\nhttps://new.example/,\n")
    done = world.studies.pages.import_file(SLUG, path, who="ada")
    assert (done.added, done.changed) == (1, 1)
    assert world.count(StudyPageRow) == 11
    assert world.count(StudyPageRow, StudyPageRow.truth == "politics") == 3
    with pytest.raises(DomainError, match="no-study"):
        world.studies.pages.import_file("other", path, who="ada")


def test_a_list_without_topics_takes_away_none(small_world: World, tmp_path: Path) -> None:
    small_world.study(3)
    url = "https://pages.example/1"
    (tmp_path / "agreed.csv").write_text(f"url,truth\n{url},non-sensitive\n")
    done = small_world.studies.pages.import_file(SLUG, tmp_path / "agreed.csv", who="ada")
    assert (done.added, done.changed) == (0, 1)
    [page] = [page for page in small_world.studies.pages.all(SLUG) if page.url == url]
    assert (page.topic, page.truth) == ("topic 1", "non-sensitive")


def test_copies_come_from_their_folder_and_from_nowhere_else(small_world: World, tmp_path: Path) -> None:
    small_world.study(2)
    copies = tmp_path / "copies"
    copies.mkdir()
    (copies / "a.html").write_text("<title>Flu</title><script>alert(1)</script><p onclick='x()'>Rest &lt;now&gt;</p>")
    (tmp_path / "secret.html").write_text("<p>secret")
    (copies / "link.html").symlink_to(tmp_path / "secret.html")
    path = tmp_path / "list.csv"
    for name in ("../secret.html", str(tmp_path / "secret.html"), "link.html", "missing.html", "."):
        path.write_text(f"url,copy\nhttps://a.example/,{name}\n")
        with pytest.raises(PageListError, match="line 2"):
            small_world.studies.pages.import_file(SLUG, path, who="ada", copies=copies)
    path.write_text("url,copy\nhttps://a.example/,a.html\n")
    assert small_world.studies.pages.import_file(SLUG, path, who="ada", copies=copies).copies == 1
    page = small_world.studies.pages.all(SLUG)[-1]
    assert page.copied
    copy = small_world.studies.pages.copy(SLUG, page.id)
    assert copy is not None
    assert b"Rest &lt;now&gt;" in copy
    assert b"alert" not in copy
    assert b"onclick" not in copy
    assert small_world.studies.pages.copy("other", page.id) is None


HOSTILE = b"""<html><head><title>Masks &amp; "tests" </title><script>alert('one')</script>
<meta name=description content='A "quoted" <b>page</b>'><meta http-equiv=refresh content='0;url=//evil.example'>
<base href=//evil.example><link rel=stylesheet href=//evil.example/x.css></head>
<body onload=alert(2)><p>Wash your hands.</p><iframe srcdoc='<script>alert(3)</script>'></iframe>
<svg><script>alert(4)</script></svg><img src=x onerror=alert(5)><a href=javascript:alert(6)>click</a>
<noscript><p title="</noscript><img src=x onerror=alert(7)>"></noscript><form action=//evil.example><input></form>
<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(8)&gt;">"""


def test_a_copy_has_the_words_of_the_page_and_none_of_its_markup() -> None:
    copy = harmless(HOSTILE).decode()
    before, after = extract(HOSTILE), extract(copy)
    assert (after.title, after.description) == (before.title, before.description)
    assert before.text in after.text
    for tag in ("<script", "<iframe", "<svg", "<img", "<a ", "<link", "<base", "<form", "<style", "http-equiv"):
        assert tag not in copy.lower(), tag
    assert "'none'" in HEADERS["Content-Security-Policy"]
    assert "sandbox" in HEADERS["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("html", "told"),
    [(b"", "nothing in it"), (b"%PDF-1.7 x", "not a page"), (b"<p hidden>x", "no text"), (b"x" * (5 << 20), "bytes")],
)
def test_what_cannot_be_labelled_is_no_copy(html: bytes, told: str) -> None:
    with pytest.raises(InputError, match=told):
        harmless(html)
