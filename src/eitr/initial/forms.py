"""Which further words count as a word of the vocabulary, so that a thousand inputs know many thousand words.

Three kinds of words share an input. Inflections and spellings: `voted` counts as `vote`, `tumour` as `tumor`, found by
rules over the words we know and by a list of our own. Relatives: `epidemiologist` counts as `epidemic`, for the two
begin alike and are words of one class of the lexicon. Groups: what is left of a subtopic, rare diseases say, shares
one input, named by its most frequent word. Words of two classes of the lexicon are never brought together.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set

from eitr.initial.material import Material
from eitr.pages.tokens import MAX_LENGTH, STOP_WORDS

SHORTEST_STEM = 4
"""Of a verb before `ed` or `ing`: shorter ones are too often another word (`rating`, `rat`)."""
SHORTEST_NOUN = 3
ALIKE = 0.65
"""Relatives share so much of the longer one's beginning, and at least `LEAST_ALIKE` letters."""
LEAST_ALIKE = 5
SMALLEST_GROUP = 3

_NO_PLURAL = (
    *(
        "s",
        "x",
        "z",
        "a",
        "i",
        "o",
        "u",
        "ic",
        "al",
        "ous",
        "ive",
        "ed",
        "ing",
        "ly",
        "ism",
        "ish",
        "able",
        "ful",
        "ese",
    ),
    *("ity", "logy", "graphy", "tion", "sion", "ance", "ence", "men", "ude", "ment"),
)
_PERSONS = ("an", "ist", "er", "or", "ant", "ee")
"""Endings of people: of rare words, these alone are worth a plural in the file."""
_AMERICAN = (("is", "iz"), ("ys", "yz"), ("our", "or"), ("aem", "em"), ("paed", "ped"), ("oe", "e"))
_BRITISH = (("ize", "ise"), ("izi", "isi"), ("iza", "isa"))


class Inflections:
    """Knows the base of each known word: the word it is a form of, or itself.

    A plural always has its singular as base. A form of a verb has the verb, unless it is one of the words to be kept.
    """

    def __init__(self, known: Collection[str], material: Material, kept: Collection[str]) -> None:
        """Look through the known words; those of `kept` get no base but their singular."""
        self._classes = {word: label for label in range(len(material.lexicon)) for word in material.words(label)}
        self._bases: dict[str, str] = {}
        for word in sorted(known):
            if word in material.apart:
                continue
            candidates = [*singulars(word)]
            if word not in kept:
                candidates += american(word)
                candidates += (stem for stem in stems(word) if word not in self._classes or stem in self._classes)
            base = next((base for base in candidates if self._fits(word, base, known)), None)
            if base is not None:
                self._bases[word] = base
        for base, forms in material.same.items():
            self._bases |= {form: base for form in forms if self.together(form, base)}
            self._bases.pop(base, None)

    def base(self, word: str) -> str:
        """Return the word that this one is a form of, over any number of steps."""
        while word in self._bases:
            word = self._bases[word]
        return word

    def together(self, word: str, other: str) -> bool:
        """Say whether two words may share an input: not if the lexicon has them in different classes."""
        one, two = self._classes.get(word), self._classes.get(other)
        return one == two or one is None or two is None

    def class_of(self, word: str) -> int | None:
        """Return the class whose lexicon has the word."""
        return self._classes.get(word)

    def _fits(self, word: str, base: str, known: Collection[str]) -> bool:
        return base in known and base != word and base not in STOP_WORDS and self.together(word, base)


def singulars(word: str) -> Iterator[str]:
    """Yield what the word may be the plural of.

    >>> list(singulars("therapies")), list(singulars("churches")), list(singulars("virus"))
    (['therapy', 'therapie'], ['church', 'churche'], [])
    """
    if len(word) <= SHORTEST_NOUN or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return
    if word.endswith("ies"):
        yield word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes", "zes", "oes")):
        yield word[:-2]
    yield word[:-1]


def plural(word: str) -> str | None:
    """Return the regular plural, or nothing for a word that looks as if it had none.

    >>> plural("therapy"), plural("church"), plural("clinical")
    ('therapies', 'churches', None)
    """
    if len(word) < SHORTEST_NOUN or word.endswith(_NO_PLURAL):
        return None
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("ch", "sh")) else "s")


def stems(word: str) -> Iterator[str]:
    """Yield the verbs or nouns the word may be made of by `ed`, `ing` or `ly`.

    >>> list(stems("voted")), list(stems("banning"))
    (['vote'], ['bann', 'banne', 'ban'])
    """
    for ending in ("ings", "ing", "ed", "ly"):
        stem = word.removesuffix(ending)
        if stem == word:
            continue
        if len(stem) >= SHORTEST_STEM:
            yield stem
        if len(stem) >= SHORTEST_NOUN and ending != "ly":
            yield stem + "e"
        if len(stem) > SHORTEST_STEM - 1 and stem[-1] == stem[-2] and ending != "ly":
            yield stem[:-1]
        if stem.endswith("i") and len(stem) >= SHORTEST_STEM:
            yield stem[:-1] + "y"
        return


def american(word: str) -> Iterator[str]:
    """Yield how a word that is spelt the British way may be spelt in America.

    >>> list(american("colonisation"))
    ['colonization']
    """
    return _respelt(word, _AMERICAN, after=2)


def british(word: str) -> Iterator[str]:
    """Yield the other direction, as far as it is safe: where no one knows the word yet, it must be right.

    >>> list(british("colonization"))
    ['colonisation']
    """
    return _respelt(word, _BRITISH, after=4)


def forms_of(
    words: Sequence[str],
    groups: Iterable[Sequence[str]],
    known: Collection[str],
    inflections: Inflections,
    material: Material,
) -> dict[str, int]:
    """Return which further words count as which place of `words`.

    Each group is a word of `words` and those that count as it. All inflections of a form count as the form does; to
    those of the known words, regular plurals and British spellings of the lexicon's words are added.
    """
    places = {word: place for place, word in enumerate(words)}
    roots = dict(places)
    for main, *members in groups:
        roots |= dict.fromkeys(members, places[main])
    for word, place in relatives(words, material).items():
        roots.setdefault(word, place)
    forms = {}
    for word in sorted(known):
        for step in (word, inflections.base(word)):
            if step in roots and inflections.together(word, words[roots[step]]):
                forms[word] = roots[step]
                break
    for word, place in sorted((places | forms).items()):
        if inflections.class_of(word) is None:
            continue
        many = plural(word) if word in places or word.endswith(_PERSONS) else None
        for form in (many, *british(word)):
            if form and form not in forms and _may_be_added(form, word, known, inflections, material):
                forms[form] = place
    return {form: place for form, place in sorted(forms.items()) if form not in places}


def relatives(words: Sequence[str], material: Material) -> dict[str, int]:
    """Return, for each word of the lexicon that begins like a word of its class with a place, that place."""
    found: dict[str, int] = {}
    places = {word: place for place, word in enumerate(words)}
    for label in range(len(material.lexicon)):
        own = sorted(material.words(label))
        with_place = [word for word in own if word in places]
        for word in own:
            if word not in places and (relative := _relative(word, with_place)):
                found[word] = places[relative]
    return found


def leftovers(
    words: Sequence[str], inflections: Inflections, material: Material, *, doubtful: Set[str]
) -> dict[tuple[int, str], list[str]]:
    """Return, for each class and subtopic, the bases of its words that have no place and no relative with one."""
    taken = {*words, *(inflections.base(word) for word in words), *relatives(words, material)}
    left: defaultdict[tuple[int, str], dict[str, None]] = defaultdict(dict)
    for label, subtopics in enumerate(material.lexicon):
        for subtopic, members in subtopics.items():
            for word in members:
                base = inflections.base(word)
                if not taken.isdisjoint((word, base)) or not doubtful.isdisjoint((word, base)):
                    continue
                left[label, subtopic][base if inflections.class_of(base) == label else word] = None
                taken.add(base)
    return {key: list(members) for key, members in left.items() if len(members) >= SMALLEST_GROUP}


def named_groups(left: Mapping[tuple[int, str], Sequence[str]], frequencies: Mapping[str, int]) -> list[list[str]]:
    """Return each subtopic's leftovers, the most frequent first, which names the group."""
    return [sorted(members, key=lambda word: (-frequencies.get(word, 0), word)) for members in left.values()]


def _respelt(word: str, rules: Iterable[tuple[str, str]], *, after: int) -> Iterator[str]:
    for here, there in rules:
        if here in word[after:]:
            yield word[:after] + word[after:].replace(here, there, 1)


def _relative(word: str, others: Sequence[str]) -> str | None:
    """Return the word that shares the longest beginning, if it is long enough; of equals, the shortest."""
    shared = {other: _common_prefix(word, other) for other in others if other[:LEAST_ALIKE] == word[:LEAST_ALIKE]}
    alike = [
        other
        for other, length in shared.items()
        if length >= LEAST_ALIKE and length >= ALIKE * max(len(word), len(other))
    ]
    return min(alike, key=lambda other: (-shared[other], len(other), other), default=None)


def _common_prefix(one: str, two: str) -> int:
    length = 0
    for a, b in zip(one, two, strict=False):
        if a != b:
            break
        length += 1
    return length


def _may_be_added(form: str, word: str, known: Collection[str], inflections: Inflections, material: Material) -> bool:
    return (
        form not in known
        and form not in STOP_WORDS
        and form not in material.apart
        and len(form) <= MAX_LENGTH
        and inflections.class_of(form) in (None, inflections.class_of(word))
    )
