"""A model from before a topic knows neither its words nor its pages."""

from eitr.initial.classifier import with_more_sketches
from eitr.initial.corpus import Labelled
from eitr.initial.material import material
from eitr.initial.unknown_words import PANDEMIC, material_without, pages_without


def test_pages_that_use_an_unknown_word_are_left_out_and_no_others():
    about, other = (Labelled(words, 0, "", "train") for words in (("covid", "hospital"), ("insulin", "hospital")))
    assert pages_without({"news_rows": [about, other]}, PANDEMIC) == {"news_rows": [other]}
    assert pages_without({"news_rows": [about, other]}, ()) == {"news_rows": [about, other]}


def test_our_material_forgets_the_words_and_keeps_the_rest():
    whole = with_more_sketches(material())
    kept = material_without(whole, PANDEMIC)
    every = {word for of_class in kept.sketches for sketch in of_class for word in sketch}
    every |= {word for label in range(6) for word in (*kept.words(label), *kept.reserved[label])}
    every |= {word for word, forms in kept.same.items() for word in (word, *forms)}
    assert every.isdisjoint(PANDEMIC)
    assert "covid" in {word for of_class in whole.sketches for sketch in of_class for word in sketch}
    assert sum(map(len, kept.sketches)) > 0.95 * sum(map(len, whole.sketches))
    assert "vaccine" in every
