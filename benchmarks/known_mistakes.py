"""What the model of version 0.1 and the shipped one say about pages of kinds that the former got wrong.

    python -m benchmarks.known_mistakes [--old FOLDER] [--to FILE]

Writes docs/classifier/known-mistakes.md. The pages are written by us. The old model is read from the history of this
repository; `--old` names a folder that holds it (model.safetensors and vocabulary.json) where there is no history.
"""

import argparse
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.markdown import table
from eitr.errors import InputError
from eitr.model.classifier import Classifier, Prediction
from eitr.pages import Page
from eitr.taxonomy import NAMES, NON_SENSITIVE

ROOT = Path(__file__).resolve().parents[1]
OLD_COMMIT = "9f8ac8f55fbf"
"""The last commit that changed the model before version 0.1 came out."""
OLD_THRESHOLD = 0.6
"""How probable a topic had to be in version 0.1; every other page was called not sensitive."""
FILES = ("model.safetensors", "vocabulary.json")
HARMLESS = NAMES[NON_SENSITIVE]
CANNOT_TELL = "cannot tell"
WHY_NOT = {"language": "does not know the language", "words": "knows too few words", "close": "not sure enough"}

MENU = "Home | Shop | Services | About us | News | Blog | Careers | Contact | Login | Cart"
CONSENT = (
    "We value your privacy. We and our partners use cookies and similar technologies to store and access information "
    "on your device, to show content and to measure how this site is used. You can change your choice at any time. "
    "Accept all | Reject all | Manage preferences"
)
FOOTER = "Terms of service | Privacy policy | Cookie settings | Imprint | Sitemap | All rights reserved"

STI_KIT = (
    "Home STI test kit. Order a chlamydia and HIV test, take the swab and post it to our lab. Results in three days."
)
ABORTION_PILLS = "Abortion pills by post, up to ten weeks, after an online consultation with a doctor."
TRADE_UNION = "Join your trade union today. Members vote on the strike next week. Our union negotiates pay for workers."
KOSHER_CATERING = (
    "Kosher catering for a bar mitzvah, weddings and Shabbat. Supervised by the rabbi, with a kitchen for meat."
)


@dataclass(frozen=True, slots=True)
class KnownMistake:
    """A page of a kind that the model of version 0.1 got wrong."""

    name: str
    label: str
    text: str


def with_banner(text: str) -> str:
    """Return the text below a menu and a cookie banner, and above a footer."""
    return f"{MENU}\n{CONSENT}\n{text}\n{FOOTER}"


SECTIONS: dict[str, tuple[KnownMistake, ...]] = {
    "Pages in other languages": (
        KnownMistake(
            "German, an abortion clinic",
            "health",
            "Home | Über uns | Kontakt\nSchwangerschaftsabbruch in unserer Praxis. Wir beraten Sie vertraulich und "
            "führen den medikamentösen oder operativen Abbruch bis zur zwölften Woche durch. Unsere Ärztinnen sind "
            "für Sie da. Termin vereinbaren.\nAll rights reserved",
        ),
        KnownMistake(
            "Spanish, HIV",
            "health",
            "El VIH es un virus que ataca el sistema inmunitario. El tratamiento antirretroviral permite a los "
            "pacientes llevar una vida normal. Hágase la prueba en su centro de salud.",
        ),
        KnownMistake(
            "French, a group for gay and lesbian people",
            "sexual-orientation",
            "Association de Lyon : accueil des jeunes gays et lesbiennes, permanence tous les mardis, marche des "
            "fiertés en juin, soutien pour ceux qui veulent en parler à leur famille.",
        ),
        KnownMistake(
            "Italian, a party",
            "politics",
            "Il partito presenta il programma elettorale: i candidati alle elezioni, le proposte del governo, il voto"
            " in parlamento e la riforma della costituzione.",
        ),
        KnownMistake(
            "Portuguese, Sunday mass",
            "religion",
            "A missa de domingo na paróquia começa às dez horas. O padre convida os fiéis a rezar o terço e a "
            "participar na procissão de Nossa Senhora.",
        ),
        KnownMistake(
            "German, garden furniture",
            HARMLESS,
            "Willkommen in unserem Onlineshop für Gartenmöbel. Wir liefern Tische, Stühle und Sonnenschirme schnell "
            "und kostenlos nach Hause. Unsere Kunden sind zufrieden, und das ist uns wichtig.",
        ),
        KnownMistake(
            "Dutch, a clinic",
            "health",
            "De kliniek heeft een nieuwe arts voor patiënten met kanker, en die is er ook voor wie niet verzekerd is "
            "of dat niet wil. Maak een afspraak voor een gesprek over de behandeling.",
        ),
        KnownMistake(
            "Latin filler text",
            HARMLESS,
            "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore et "
            "dolore magna aliqua. Duis aute irure dolor in reprehenderit in voluptate velit esse cillum dolore eu "
            "fugiat nulla.",
        ),
    ),
    "Short pages below a menu and a cookie banner": tuple(
        KnownMistake(f"{name}, {how}", label, made)
        for name, label, text in (
            ("home STI kit", "health", STI_KIT),
            ("abortion pills", "health", ABORTION_PILLS),
            ("trade union", "politics", TRADE_UNION),
            ("kosher catering", "religion", KOSHER_CATERING),
        )
        for how, made in (("without them", text), ("with them", with_banner(text)))
    ),
    "Pages that only look sensitive": (
        KnownMistake(
            "a vet clinic",
            HARMLESS,
            "Welcome to Oakfield Veterinary Clinic. Our vets and nurses look after dogs, cats and rabbits. "
            "Vaccination, neutering, dental care, surgery and emergency treatment for your pets. Book an appointment "
            "or call us.",
        ),
        KnownMistake(
            "a laptop virus",
            HARMLESS,
            "My laptop has a virus. The scan found an infected file. How do I get rid of the infection?",
        ),
        KnownMistake(
            "a business in good health",
            HARMLESS,
            "Is your business in good health? A healthy balance sheet, a healthy culture and vital signs to watch.",
        ),
        KnownMistake(
            "heavenly brownies",
            HARMLESS,
            "Heavenly brownies: a divine recipe. Bless the cook, these are a gift from heaven.",
        ),
        KnownMistake(
            "a weekend in Seville",
            HARMLESS,
            "A weekend in Seville. Visit the cathedral, climb the tower, stroll through the gardens of the palace, "
            "eat tapas and see flamenco at night. Hotels near the old town fill up before Easter.",
        ),
        KnownMistake(
            "a colon in a regular expression",
            HARMLESS,
            "In this regular expression the colon separates the key from the value. Escape special characters with a "
            "backslash and match the pattern at the start of the line.",
        ),
        KnownMistake(
            "leader election in a cluster",
            HARMLESS,
            "Leader election in a distributed cluster: each node votes for a candidate, the node with a majority of "
            "votes becomes the leader for the term, and followers replicate the log until the next election.",
        ),
        KnownMistake(
            "a hairdresser in Church Street",
            HARMLESS,
            "The hairdresser in Church Street is open from nine to five.",
        ),
    ),
    "Sensitive pages that it missed": (
        KnownMistake(
            "HIV testing",
            "health",
            f"{MENU}\nHIV testing\nWhere to go and how long it takes. Open on Tuesdays at our house.",
        ),
        KnownMistake(
            "an alcohol helpline",
            "health",
            f"{MENU}\nAlcohol helpline: if drinking has become a problem at home or at work, talk to us.",
        ),
        KnownMistake(
            "a Buddhist retreat",
            "religion",
            f"{MENU}\nWeekend retreat at the Buddhist centre: sit in silence, walk in the forest, and eat together.",
        ),
        KnownMistake(
            "the login of a patient portal",
            "health",
            "Patient portal login. User name, password. Forgot your password?",
        ),
    ),
}

INTRODUCTION = f"""# Known mistakes, before and after

Written by `python -m benchmarks.known_mistakes`. Pages of kinds that the model of version 0.1 got wrong, with its
answer and that of the model that is shipped today. The texts are in `benchmarks/known_mistakes.py`. They are written
by us, after pages on which the mistakes were seen, and so that the model of version 0.1 makes these mistakes.

We knew these mistakes when we made today's model, and wrote sketches of such pages for its training. The sentences
here are not among them, but the tables only show what became of these mistakes. How the model does on pages that
nobody had in mind is in [evaluation.md](evaluation.md) and [browser.md](browser.md).

The model of version 0.1 (commit `{OLD_COMMIT}`) read menus and notices like any other text, showed a topic from
{100 * OLD_THRESHOLD:.0f} % on, and called every other page not sensitive, whatever the probabilities were. Today there
is a third answer, that the model cannot tell. An answer is **wrong** if it is another topic than that of the page, or
"not sensitive" for a sensitive page. The last column has the words that led to the topic that is shown today.
"""


def main() -> None:
    """Ask both models and write the document."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--old", type=Path, help="a folder that holds the model of version 0.1 (default: from git)")
    parser.add_argument("--to", type=Path, default=ROOT / "docs" / "classifier" / "known-mistakes.md")
    given = parser.parse_args()
    old = Classifier.load(given.old) if given.old else from_history(OLD_COMMIT)
    given.to.write_text(report(old, Classifier.shipped()), "utf-8")


def from_history(commit: str) -> Classifier:
    """Return the model that a commit of this repository shipped."""
    with tempfile.TemporaryDirectory() as folder:
        for name in FILES:
            found = subprocess.run(
                ["git", "show", f"{commit}:src/eitr/assets/{name}"], cwd=ROOT, capture_output=True, check=False
            )
            if found.returncode:
                raise InputError(f"the history has no commit {commit}: fetch all of it, or give --old FOLDER")
            Path(folder, name).write_bytes(found.stdout)
        return Classifier.load(Path(folder))


def report(old: Classifier, new: Classifier) -> str:
    """Return the document: a table for each kind of mistake, and how many answers are wrong."""
    parts = [INTRODUCTION]
    every: list[tuple[str, str, str]] = []
    for title, mistakes in SECTIONS.items():
        pages = [Page(text=mistake.text) for mistake in mistakes]
        before = [answer_with_two(prediction) for prediction in old.classify(pages)]
        after = new.classify(pages)
        now = [answer_with_three(prediction) for prediction in after]
        every += zip((mistake.label for mistake in mistakes), before, now, strict=True)
        rows = [
            [
                mistake.name,
                _called(mistake.label),
                _told(mistake.label, first),
                _told(mistake.label, second),
                ", ".join(reason.word for reason in new.reasons(page)[:5]) if prediction.shown else "",
            ]
            for mistake, page, first, second, prediction in zip(mistakes, pages, before, now, after, strict=True)
        ]
        head = ["page", "is about", "model of version 0.1", "today", "words that led to it, today"]
        parts += [f"## {title}", "", table(head, rows), ""]
    return "\n".join([parts[0], _total(every), "", *parts[1:]])


def answer_with_two(prediction: Prediction) -> str:
    """Return what version 0.1 said: a topic, or "not sensitive" with the most probable class."""
    share = f"{100 * prediction.probabilities[prediction.label]:.0f} %"
    if prediction.label == HARMLESS:
        return f"{_called(HARMLESS)}, {share}"
    if prediction.probabilities[prediction.label] >= OLD_THRESHOLD:
        return f"{prediction.label}, {share}"
    return f"{_called(HARMLESS)} ({prediction.label} {share})"


def answer_with_three(prediction: Prediction) -> str:
    """Return what is said today: a topic, "not sensitive", or that the model cannot tell."""
    share = f"{100 * prediction.probabilities[prediction.label]:.0f} %"
    if prediction.cannot_tell:
        return f"{CANNOT_TELL}: {WHY_NOT[prediction.cannot_tell]} ({_called(prediction.label)} {share})"
    return f"{_called(prediction.shown or HARMLESS)}, {share}"


def is_wrong(label: str, answer: str) -> bool:
    """Say whether an answer names another class than the page has; not to be able to tell is not wrong."""
    return not answer.startswith((_called(label), CANNOT_TELL))


def _told(label: str, answer: str) -> str:
    return f"{answer}: **wrong**" if is_wrong(label, answer) else answer


def _called(label: str) -> str:
    return "not sensitive" if label == HARMLESS else label


def _total(answers: Sequence[tuple[str, str, str]]) -> str:
    before = sum(is_wrong(label, answer) for label, answer, _ in answers)
    now = sum(is_wrong(label, answer) for label, _, answer in answers)
    unclear = sum(answer.startswith(CANNOT_TELL) for _, _, answer in answers)
    return f"{len(answers)} pages. Wrong answers before: {before}; today: {now}. Cannot tell, today: {unclear}."


if __name__ == "__main__":
    main()
