import json

import numpy as np
import pytest

from eitr.cli import bulk
from eitr.cli.bulk import central_vocabulary, classified, federated_vocabulary
from eitr.errors import InputError
from eitr.model import Model, Network
from eitr.model.classifier import Classifier
from eitr.pages import Vocabulary
from eitr.taxonomy import NAMES


@pytest.fixture
def classifier():
    """A classifier of six words, one for each class."""
    network = Network((6, 6))
    vector = np.concatenate([8 * np.eye(6, dtype=np.float32).ravel(), np.zeros(6, np.float32)])
    words = ("doctor", "vote", "prayer", "queer", "roma", "football")
    return Classifier(Model(network, vector), Vocabulary(words, np.ones(6)))


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_each_row_gets_a_label_and_six_probabilities_and_keeps_its_other_fields(classifier, tmp_path):
    path = write(
        tmp_path / "rows.jsonl", [{"title": "A doctor", "url": "u1", "label": "health"}, {"text": "prayer", "n": 2}]
    )
    first, second = classified(classifier, path)
    assert first["label"] == "health"
    assert list(first["probabilities"]) == list(NAMES)
    assert sum(first["probabilities"].values()) == pytest.approx(1, abs=1e-5)
    assert first["url"] == "u1"
    assert first["given_label"] == "health"
    assert "title" not in first
    assert (second["label"], second["n"]) == ("religion", 2)


def test_each_row_says_which_of_the_three_answers_it_is(classifier, tmp_path):
    rows = [{"text": "doctor doctors"}, {"text": "football"}, {"text": "doctor vote prayer"}]
    known = Classifier(classifier.model, Vocabulary(classifier.vocabulary.words, np.ones(6), {"doctors": 0}))
    found = list(classified(known, write(tmp_path / "rows.jsonl", rows)))
    assert [(row["shown"], row["cannot_tell"], row["known_words"]) for row in found] == [
        ("health", None, 1),
        (None, "words", 1),
        (None, "close", 3),
    ]
    assert {row["language"] for row in found} == {"unknown"}


def test_a_rows_own_fields_of_the_same_names_are_passed_through(classifier, tmp_path):
    own = {name: f"my {name}" for name in bulk.ADDED}
    (found,) = classified(classifier, write(tmp_path / "rows.jsonl", [{"text": "vote", **own}]))
    assert {name: found[f"given_{name}"] for name in own} == own
    assert not {name for name in own if found[name] == own[name]}


def test_each_result_has_the_number_of_its_line(classifier, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "vote"}\n\n{"text": "doctor", "line": "mine"}\n')
    first, second = classified(classifier, path)
    assert (first["line"], second["line"], second["given_line"]) == (1, 3, "mine")


def test_many_rows_come_out_in_their_order_across_batches(classifier, tmp_path, monkeypatch):
    monkeypatch.setattr(bulk, "BATCH", 3)
    words = ["doctor", "vote", "football"] * 4
    path = write(tmp_path / "rows.jsonl", [{"text": word, "n": n} for n, word in enumerate(words)])
    found = list(classified(classifier, path))
    assert [row["n"] for row in found] == list(range(12))
    assert [row["label"] for row in found] == ["health", "politics", "non-sensitive"] * 4


def test_bad_lines_are_reported_with_their_numbers_and_the_others_are_classified(classifier, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"text": "vote"}\nnonsense\n[1]\n{"text": 3}\n{"text": "caf\xe9"}\n{"text": "doctor"}\n')
    reported: list[str] = []
    found = list(classified(classifier, path, lambda error: reported.append(str(error).removeprefix(f"{path}: "))))
    assert [(row["line"], row["label"]) for row in found] == [(1, "politics"), (6, "health")]
    assert reported == [
        "line 2 is not JSON",
        "line 3 is not a JSON object",
        "line 4: the field 'text' of a row must be a string or null, not int",
        "line 5 is not text in UTF-8: convert the file, for example with iconv -f latin1 -t utf-8",
    ]


def test_rows_before_a_bad_one_still_come_out(classifier, tmp_path):
    path = write(tmp_path / "rows.jsonl", [{"text": "vote"}, {"text": 3}])
    found = classified(classifier, path)
    assert next(found)["label"] == "politics"
    with pytest.raises(InputError, match=r"line 2: the field 'text'"):
        next(found)


def test_a_model_and_a_vocabulary_that_do_not_belong_together_are_refused(classifier):
    with pytest.raises(InputError, match="the model takes 6 words, the vocabulary has 1"):
        Classifier(classifier.model, Vocabulary(("vote",), np.ones(1)))


def test_a_reason_names_the_word_as_it_stands_on_the_page(classifier):
    from eitr.pages import Page

    forms = {"doctors": 0, "votes": 1}
    known = Classifier(classifier.model, Vocabulary(classifier.vocabulary.words, np.ones(6), forms))
    reasons = known.reasons(Page(text="doctor doctors doctors votes"))
    assert [reason.word for reason in reasons] == ["doctors"]


def test_only_words_that_spoke_for_the_verdict_are_reasons(classifier):
    from eitr.pages import Page

    reasons = classifier.reasons(Page(text="doctor doctor vote unknown"))
    assert [reason.word for reason in reasons] == ["doctor"]
    assert reasons[0].weight > 0
    assert classifier.reasons(Page(text="unknown")) == []


def test_a_central_vocabulary_holds_the_weightiest_words_of_all_files(tmp_path):
    ann = write(tmp_path / "ann.jsonl", [{"text": "fever cough"}, {"text": "fever"}])
    bob = write(tmp_path / "bob.jsonl", [{"text": "fever vote"}])
    assert central_vocabulary([ann, bob], size=1).words == ("fever",)


def test_a_federated_vocabulary_keeps_a_lone_clients_terms_to_itself(tmp_path):
    paths = [write(tmp_path / f"{n}.jsonl", [{"text": f"fever cough secret{chr(97 + n) * 3}"}]) for n in range(3)]
    words = federated_vocabulary(paths, size=10, min_clients=2).words
    assert set(words) == {"fever", "cough"}


def test_too_few_clients_or_empty_files_are_refused(tmp_path):
    path = write(tmp_path / "rows.jsonl", [{"text": "the of"}])
    with pytest.raises(InputError, match="1 clients cannot agree"):
        federated_vocabulary([path], size=10, min_clients=3)
    with pytest.raises(InputError, match="no page with words"):
        central_vocabulary([path], size=10)


def test_reasons_tell_words_apart_also_when_the_verdict_is_certain():
    from eitr.pages import Page

    # Two words for the first class, of which one speaks ten times as loud: both are certain by themselves.
    loud = np.zeros((2, 6), np.float32)
    loud[:, 0] = 2000, 200
    certain = Classifier(
        Model(Network((2, 6)), np.concatenate([loud.ravel(), np.zeros(6, np.float32)])),
        Vocabulary(("doctor", "nurse"), np.ones(2)),
    )
    page = Page(text="nurse doctor")
    assert certain.classify([page])[0].probabilities["health"] == 1
    reasons = certain.reasons(page)
    assert [reason.word for reason in reasons] == ["doctor", "nurse"]
    assert reasons[0].weight > reasons[1].weight


def test_at_most_eight_words_are_reasons():
    from eitr.pages import Page

    words = ("aa", "bb", "cc", "dd", "ee", "ff", "gg", "hh", "ii")
    kernel = np.zeros((9, 6), np.float32)
    kernel[:, 0] = range(9, 0, -1)
    many = Classifier(
        Model(Network((9, 6)), np.concatenate([kernel.ravel(), np.zeros(6, np.float32)])), Vocabulary(words, np.ones(9))
    )
    assert [reason.word for reason in many.reasons(Page(text=" ".join(words)))] == list(words[:8])
