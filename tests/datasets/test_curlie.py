import gzip

import pytest

from eitr.datasets import curlie, load
from eitr.errors import InputError
from eitr.taxonomy import NAMES

HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<RDF xmlns:r="http://www.w3.org/TR/RDF/" xmlns:d="http://purl.org/dc/elements/1.0/" xmlns="http://dmoz.org/rdf/">
"""
TOPICS = (
    "Top/Health/Medicine",
    "Top/Society/Politics/Parties",
    "Top/Society/Religion_and_Spirituality/Islam",
    "Top/Society/Gay,_Lesbian,_and_Bisexual",
    "Top/Society/Ethnicity/African",
    "Top/Computers/Software",
)


def entry(topic, title="A &amp; B", description="many words"):
    return (
        f'<Topic r:id="{topic}"><catid>1</catid><link r:resource="http://a.example/"/></Topic>\n'
        f'<ExternalPage about="http://a.example/"><d:Title>{title}</d:Title>'
        f"<d:Description>{description}</d:Description><topic>{topic}</topic></ExternalPage>\n"
    )


def write(folder, body, name="content.rdf.u8"):
    text = body if isinstance(body, bytes) else (HEAD + body + "</RDF>\n").encode()
    (folder / name).write_bytes(text)
    return folder


def test_entries_become_pages_with_the_class_of_their_topic(tmp_path):
    write(tmp_path, "".join(entry(topic) for topic in TOPICS))
    found = list(curlie.pages(tmp_path))
    assert [labelled.label for labelled in found] == list(range(6))
    assert found[0].page.title == "A & B"
    assert found[0].page.description == "many words"
    assert all(labelled.test is None for labelled in found)


def test_examples_are_made_of_a_packed_dump(tmp_path):
    body = HEAD + "".join(entry(topic, description=f"snow {topic}") for topic in TOPICS * 10) + "</RDF>"
    write(tmp_path, gzip.compress(body.encode()), "content.rdf.u8.gz")
    examples = load("curlie", data_dir=tmp_path)
    assert len(examples) == 60
    assert "medicine" in examples.words


def test_other_languages_adult_and_regional_pages_are_left_out(tmp_path):
    left_out = (
        "Top/World/Deutsch/Gesundheit",
        "Top/Adult/Arts",
        "Top/Regional/Europe/Health",
        "Top/Society/Issues/War",
    )
    write(tmp_path, "".join(entry(topic) for topic in left_out) + entry("Top/Arts"))
    assert [labelled.label for labelled in curlie.pages(tmp_path)] == [5]


@pytest.mark.parametrize(
    ("topic", "name"),
    [
        ("Top/Health", "health"),
        ("Top/Healthcare_Jokes", "non-sensitive"),
        ("Top/Society", "non-sensitive"),
        ("Top/Society/Politics_of_Food", "non-sensitive"),
        ("Top/Society/Transgendered/Organizations", "sexual-orientation"),
        ("Top/Kids_and_Teens/Health/Teeth", "health"),
        ("Top/Kids_and_Teens/Games", "non-sensitive"),
    ],
)
def test_a_path_counts_by_whole_names_and_the_longest_wins(topic, name):
    assert curlie.class_of(topic) == NAMES.index(name)


def test_every_class_has_a_part_of_the_tree():
    assert {name for name in curlie.CLASSES.values() if name} == set(NAMES) - {"non-sensitive"}


def test_stray_control_characters_do_not_end_the_reading(tmp_path):
    write(tmp_path, entry("Top/Health", title="a\x08b") + entry("Top/Arts"))
    assert [labelled.label for labelled in curlie.pages(tmp_path)] == [0, 5]


def test_an_entity_bomb_is_refused_before_it_goes_off(tmp_path):
    levels = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    bomb = f'<?xml version="1.0"?><!DOCTYPE RDF [<!ENTITY e0 "boom">{levels}]><RDF>' + entry("Top/Arts", "&e11;")
    write(tmp_path, (bomb + "</RDF>").encode())
    with pytest.raises(InputError, match="has no document type"):
        list(curlie.pages(tmp_path))


def test_a_document_type_is_noticed_wherever_the_reading_is_cut(tmp_path):
    for padding in range(32_700, 32_800, 7):
        write(tmp_path, f"<!--{'x' * padding}--><!DOCTYPE RDF><RDF></RDF>".encode())
        with pytest.raises(InputError, match="has no document type"):
            list(curlie.pages(tmp_path))


def test_a_document_type_cannot_hide_in_another_encoding(tmp_path):
    (tmp_path / "secret").write_text("secret")
    text = f'<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE RDF [<!ENTITY x SYSTEM "{tmp_path}/secret">]><RDF>'
    write(tmp_path, (text + entry("Top/Arts", "&x;") + "</RDF>").encode("utf-16"))
    with pytest.raises(InputError):
        list(curlie.pages(tmp_path))


def test_an_unknown_entity_is_no_way_to_a_file(tmp_path):
    write(tmp_path, entry("Top/Arts", "before &unknown; after"))
    assert "unknown" not in next(curlie.pages(tmp_path)).page.title


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not XML at all",
        (HEAD + entry("Top/Arts")).encode(),
        (HEAD + entry("Top/Arts") + '<ExternalPage about="http://b').encode(),
    ],
    ids=["empty", "no XML", "no end", "cut off in the middle"],
)
def test_what_is_no_whole_dump_is_an_error(tmp_path, body):
    with pytest.raises(InputError) as error:
        list(curlie.pages(write(tmp_path, body)))
    assert "\n" not in str(error.value)


def test_a_dump_of_no_entries_is_an_error(tmp_path):
    with pytest.raises(InputError, match="hold no page"):
        load("curlie", data_dir=write(tmp_path, ""))


def test_an_entry_without_a_topic_is_an_error(tmp_path):
    write(tmp_path, '<ExternalPage about="http://a.example/"><d:Title>A</d:Title></ExternalPage>')
    with pytest.raises(InputError, match="has no topic"):
        list(curlie.pages(tmp_path))


def test_a_packed_dump_that_is_cut_off_is_an_error(tmp_path):
    packed = gzip.compress((HEAD + "".join(entry(topic) for topic in TOPICS) + "</RDF>").encode())
    write(tmp_path, packed[:-30], "content.rdf.u8.gz")
    with pytest.raises(InputError, match="damaged or cut off"):
        list(curlie.pages(tmp_path))


@pytest.mark.parametrize("wrapped", ["", "part"])
def test_what_was_read_is_dropped_at_once(tmp_path, monkeypatch, wrapped):
    kept, forget = [], curlie._forget

    def observed(element):
        forget(element)
        kept.append(sum(1 for _ in element.getroottree().getroot().iter()))

    monkeypatch.setattr(curlie, "_forget", observed)
    one = f"<{wrapped}>{entry('Top/Arts')}</{wrapped}>" if wrapped else entry("Top/Arts")
    write(tmp_path, one * 2000)
    assert sum(1 for _ in curlie.pages(tmp_path)) == 2000
    # The parser is ahead by what stands in one piece of the file, no more.
    assert kept[-1] <= 3
    assert max(kept) < 2000


def test_a_file_without_entries_is_not_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(curlie, "ENTRY_LIMIT", 100_000)
    write(tmp_path, entry("Top/Arts") + "<junk/>" * 100_000)
    with pytest.raises(InputError, match="no entry within 100000 bytes"):
        list(curlie.pages(tmp_path))
