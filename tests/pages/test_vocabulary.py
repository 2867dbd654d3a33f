import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eitr.errors import InputError
from eitr.pages import Page, Vocabulary
from eitr.pages.vocabulary import MAX_IDF, MIN_IDF

WORDS = ("vote", "fever", "church", "café")
IDF = np.array([3.0, 4.0, 1.0, 2.5])
VOCABULARY = Vocabulary(WORDS, IDF)
FORMS = {"votes": 0, "voted": 0, "feverish": 1, "cafés": 3}
WITH_FORMS = Vocabulary(WORDS, IDF, FORMS)
TOKENS = st.lists(st.sampled_from([*WORDS, "unknown"]))


def written(**changes: Any) -> str:
    content = {"format": "eitr-vocabulary", "version": 1, "words": ["aa", "bb"], "idf": [1, 2.5]}
    return json.dumps(content | {"forms": {"cc": 1}} | changes)


@given(TOKENS)
def test_the_norm_is_one_or_the_vector_is_zero(tokens: list[str]) -> None:
    indices, values = VOCABULARY.vector(tokens)
    assert indices.tolist() == sorted(set(indices.tolist()))
    known = set(tokens) - {"unknown"}
    assert len(values) == len(known)
    assert math.isclose(np.linalg.norm(values), 1.0 if known else 0.0, abs_tol=1e-6)


@given(TOKENS, st.randoms(use_true_random=False))
def test_the_order_of_words_does_not_matter(tokens: list[str], chance: Any) -> None:
    shuffled = chance.sample(tokens, len(tokens))
    before, after = VOCABULARY.vector(tokens), VOCABULARY.vector(shuffled)
    assert before[0].tobytes() == after[0].tobytes()
    assert before[1].tobytes() == after[1].tobytes()


@given(TOKENS)
def test_the_values_follow_the_formula(tokens: list[str]) -> None:
    counts = Counter(tokens)
    weights = np.array([(1 + math.log(counts[w])) * f if counts[w] else 0.0 for w, f in zip(WORDS, IDF, strict=True)])
    expected = weights / (np.linalg.norm(weights) or 1)
    indices, values = VOCABULARY.vector(tokens)
    dense = np.zeros(len(WORDS))
    dense[indices] = values
    np.testing.assert_allclose(dense, expected, atol=1e-7)


@given(st.lists(st.sampled_from([*WORDS, *FORMS, "unknown"])))
def test_a_form_counts_as_its_word(tokens: list[str]) -> None:
    replaced = [WORDS[FORMS[token]] if token in FORMS else token for token in tokens]
    found, expected = WITH_FORMS.vector(tokens), VOCABULARY.vector(replaced)
    assert found[0].tobytes() == expected[0].tobytes()
    assert found[1].tobytes() == expected[1].tobytes()


def test_a_word_is_named_by_its_most_frequent_form_on_the_page() -> None:
    words = ["vote", "votes", "unknown", "voted", "votes", "feverish", "fever"]
    assert WITH_FORMS.known(words) == {0: "votes", 1: "feverish"}


def test_a_foreign_word_must_be_a_form() -> None:
    with pytest.raises(InputError, match="no form of it"):
        Vocabulary(WORDS, IDF, FORMS, foreign=frozenset(("unheard",)))


def test_a_short_page_with_a_known_foreign_word_is_not_english() -> None:
    vocabulary = Vocabulary(("fever",), np.ones(1), {"fieber": 0, "fevers": 0}, foreign=frozenset(("fieber",)))
    languages = [vocabulary.read(Page(text=text)).language for text in ("Fieber Husten", "Fevers coughs", "Tussis")]
    assert languages == ["foreign", "unknown", "unknown"]
    # In a text that is long enough to tell, a word of another language changes nothing.
    assert vocabulary.read(Page(text="The word for it in the language of the doctor is Fieber")).language == "en"


@given(st.permutations(["vote", "fever", "church", "vote"]))
def test_it_does_not_matter_in_which_field_a_word_stands(words: list[str]) -> None:
    row = VOCABULARY.rows([Page(*words)])
    assert row.dense().tobytes() == VOCABULARY.rows([Page(text="vote fever church vote")]).dense().tobytes()


def test_rows_are_the_vectors_of_the_pages_in_order() -> None:
    rows = VOCABULARY.rows([Page(text="Vote!"), Page(text="nothing known"), Page(title="Fever", text="vote")])
    expected = np.array([[1, 0, 0, 0], [0, 0, 0, 0], [0.6, 0.8, 0, 0]], np.float32)
    np.testing.assert_array_equal(rows.dense(), expected)


def test_no_pages_are_no_rows() -> None:
    assert VOCABULARY.rows([]).dense().shape == (0, len(WORDS))


def test_the_idf_follows_the_formula() -> None:
    vocabulary = Vocabulary.of(["vote", "fever", "rare"], {"vote": 9, "fever": 4}, 9)
    np.testing.assert_allclose(vocabulary.idf, [1.0, math.log(2) + 1, math.log(10) + 1], rtol=1e-15)


def test_a_page_of_the_word_with_the_least_idf_has_a_vector() -> None:
    vocabulary = Vocabulary(("vote", "fever"), np.array([MIN_IDF, MAX_IDF]))
    assert vocabulary.vector(["vote"])[1].tolist() == [1.0]
    values = vocabulary.vector(["vote", *["fever"] * 10**6])[1]
    assert 0 < values[0] < values[1]


@given(st.lists(st.floats(MIN_IDF, MAX_IDF), min_size=len(WORDS), max_size=len(WORDS)))
def test_a_file_gives_back_the_vocabulary_to_the_last_bit(idf: list[float]) -> None:
    before = Vocabulary(WORDS, np.array(idf), FORMS, foreign=frozenset(list(FORMS)[:1]))
    after = Vocabulary.from_json(before.to_json())
    assert after.foreign == before.foreign
    assert after.words == before.words
    assert after.forms == before.forms
    assert Vocabulary.from_json(after.to_json()).to_json() == before.to_json()
    assert after.idf.tobytes() == before.idf.tobytes()


def test_save_and_load(tmp_path: Path) -> None:
    VOCABULARY.save(tmp_path / "vocabulary.json")
    assert Vocabulary.load(tmp_path / "vocabulary.json").words == WORDS


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("9" * 5000, "not JSON"),
        ("[]", "exactly the keys"),
        ('{"words": []}', "exactly the keys"),
        (written(extra=1), "exactly the keys"),
        (written(format="other"), "format"),
        (written(version=3), "version"),
        (written(words="aa"), "list of strings"),
        (written(words=["aa", 1]), "list of strings"),
        (written(idf=[1, "2"]), "list of numbers"),
        (written(idf=[1, True]), "list of numbers"),
        (written(idf=[1, None]), "list of numbers"),
        (written(words=[], idf=[]), "1 to"),
        (written(words=[f"w{i}" for i in range(100_001)]), "1 to 100000 words"),
        (written(idf=[1.0]), "as many IDF"),
        (written(idf=[1.0, 0.0]), "at least 0.001"),
        (written(idf=[1.0, -2.0]), "at least 0.001"),
        (written(idf=[1.0, 1e-200]), "at least 0.001"),
        (written(idf=[1.0, 0.000999]), "at least 0.001"),
        (written(idf=[1.0, 101.0]), "at most 100"),
        (written(idf=[1.0, math.nan]), "at least 0.001"),
        (written(idf=[1.0, math.inf]), "at least 0.001"),
        (written(idf=[1.0, 10**400]), "too large"),
        (written(words=["aa", "aa"]), "twice"),
        (written(words=["aa", "Upper"]), "not a token"),
        (written(words=["aa", "the"]), "not a token"),
        (written(words=["aa", "two words"]), "not a token"),
        (written(words=["aa", "b"]), "not a token"),
        (written(words=["aa", "b" * 41]), "not a token"),
        (written(words=["aa", "cafe\u0301"]), "not a token"),
        (written(words=["aa", "\ud800"]), "not a token"),
        (written(forms=["cc"]), "object of whole numbers"),
        (written(forms={"cc": "1"}), "object of whole numbers"),
        (written(forms={"cc": 1.0}), "object of whole numbers"),
        (written(forms={"cc": True}), "object of whole numbers"),
        (written(forms={"cc": -1}), "no word of it"),
        (written(forms={"cc": 2}), "no word of it"),
        (written(forms={"aa": 1}), "both a word and a form"),
        (written(forms={"Upper": 1}), "not a token"),
        (written(forms={"two words": 1}), "not a token"),
        (written(forms={"cafe\u0301": 1}), "not a token"),
        (written(forms={f"w{i}": 0 for i in range(50_001)}), "at most 50000 forms"),
        (written(foreign=["dd"]), "object of whole numbers"),
        (written(foreign={"dd": 1.0}), "object of whole numbers"),
        (written(foreign={"dd": 2}), "no word of it"),
        (written(foreign={"aa": 1}), "both a word and a form"),
        (written(foreign={"Upper": 1}), "not a token"),
        (written(forms={"cc": 1}, foreign={"cc": 1}), "both a form and foreign"),
        (written(forms={f"w{i}": 0 for i in range(50_000)}, foreign={"dd": 0}), "at most 50000 forms"),
    ],
)
def test_a_bad_file_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(InputError, match=why) as caught:
        Vocabulary.from_json(text)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.json: cannot be read"):
        Vocabulary.load(tmp_path / "nowhere.json")


def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "v.json").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        Vocabulary.load(tmp_path / "v.json")


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "v.json").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(InputError, match="larger than"):
        Vocabulary.load(tmp_path / "v.json")
