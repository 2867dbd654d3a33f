"""Studies in which people label pages of a new topic, and raters who label the pages that models are judged by.

Both are simulated. What people say about a page is drawn from a model of human error with five kinds of people. Where
its numbers come from:

- *careful* people slip on 3.3 % of the pages: the mean share of wrong labels in ten well-known test sets (Northcutt,
  Athalye and Mueller, "Pervasive label errors in test sets destabilize machine learning benchmarks", NeurIPS 2021).
  They also differ in what they call sensitive, on up to a tenth of the pages, which makes an error of about 8 %. If
  errors were independent, four raters of 100 pages, 85 of them sensitive, would then have the kappa of 0.56 that the
  paper reports of its experts. Here raters doubt the same pages, and agree more: the experiment `agreement` tells.
- *hurried* people are 12 % of all: of the students who filled in a long survey for credit, 10 to 12 % were careless
  (Meade and Craig, "Identifying careless responses in survey data", Psychological Methods 17, 2012). Their share of
  slips, 30 %, is an assumption: they judge many pages by the title.
- *confused* people take sensitive data for data about a named person, or everything about the pandemic for health. That
  they are 24 %, and that the most extreme of them disagrees with the definition on 60 % of the sensitive pages and 30 %
  of the others, is an assumption; the paper reports that interpretations diverge, not how far.
- *contrary* people say the opposite of what they see, nearly always. They are 4 %, the lower end of the 4 to 7 % bogus
  answers in online surveys that anybody can join (Pew Research Center, "Assessing the risks to online polls from bogus
  respondents", 2020).
- *malicious* people replace a share of all of these, which is a setting: they agreed to call every sensitive page
  non-sensitive, the label flipping of the paper, and train longer than others, as its attackers do.
"""

from dataclasses import dataclass
from typing import ClassVar

from eitr.aggregation.interface import Rule
from eitr.errors import InputError
from eitr.lab.runs.private_training import PrivateTraining
from eitr.lab.runs.run import Run
from eitr.model.plan import TrainingPlan


@dataclass(frozen=True, kw_only=True)
class PersonKind:
    """How one kind of people labels pages."""

    name: str
    share: float = 0.0
    """How many of the people who are not malicious are of this kind."""
    slip: float = 0.0
    """How often a person chooses a wrong label by accident: half of the time, sensitive or not is mistaken; otherwise
    another class is chosen, all with the same chance."""
    narrow: float = 0.0
    """The most extreme person of this kind calls so many of the sensitive pages non-sensitive, always the same ones."""
    wide: float = 0.0
    """... and so many of the others sensitive."""
    opposite: float = 0.0
    """How often a person says the opposite on purpose."""


CAREFUL = PersonKind(name="careful", share=0.60, slip=0.033, narrow=0.1, wide=0.1)
HURRIED = PersonKind(name="hurried", share=0.12, slip=0.3, narrow=0.1, wide=0.1)
CONFUSED = PersonKind(name="confused", share=0.24, slip=0.033, narrow=0.6, wide=0.3)
CONTRARY = PersonKind(name="contrary", share=0.04, opposite=0.9)
MALICIOUS = PersonKind(name="malicious")
PEOPLE = (CAREFUL, HURRIED, CONFUSED, CONTRARY)
KINDS = (*PEOPLE, MALICIOUS)
"""Results number the kinds by their place here."""


@dataclass(frozen=True, kw_only=True)
class StudyRun(Run):
    """One study: people with tasks, a rule, maybe malicious ones among them, and a number of rounds."""

    kind: ClassVar[str] = "study"

    data: str
    """The name of the data set: tasks are drawn from its training pages, models are judged by its test pages."""
    start: str
    """The name of the model that the study starts from."""
    rule: Rule
    clients: int = 50
    """How many people take part."""
    pages_each: int = 20
    alpha: float = 0.9
    """Concentration of the Dirichlet distribution of a person's pages over the classes."""
    rounds: int = 40
    malicious: float = 0.0
    """The share of the people who are malicious."""
    plan: TrainingPlan = TrainingPlan()
    extra_epochs: int = 5
    """Epochs that malicious people train more than the plan says, with training as in the paper."""
    training: PrivateTraining | None = None
    """How people train; None: the paper's way."""
    people: tuple[PersonKind, ...] = PEOPLE

    def __post_init__(self) -> None:
        if min(self.clients, self.pages_each, self.rounds) < 1:
            raise InputError("a study needs people, pages and rounds, at least one of each")
        if not 0 <= self.malicious <= 1:
            raise InputError(f"the malicious are a share of the people, from 0 to 1, not {self.malicious}")
        if not self.alpha > 0:
            raise InputError(f"the concentration of the draw must be above 0, not {self.alpha}")
        if not self.people or abs(sum(kind.share for kind in self.people) - 1) > 1e-9:
            raise InputError("the shares of the kinds of people must sum to 1")

    @property
    def attackers(self) -> int:
        """Return how many people are malicious: rounded, half up."""
        return int(self.malicious * self.clients + 0.5 + 1e-9)

    @property
    def title(self) -> str:
        """Return a few words for a progress bar."""
        way = "paper" if self.training is None else "private"
        return f"study, {self.rule.name}, {way}, {self.attackers}/{self.clients} malicious, seed {self.seed}"


@dataclass(frozen=True, kw_only=True)
class RatingRun(Run):
    """Raters who label the test pages of a data set, blind to each other."""

    kind: ClassVar[str] = "rating"

    data: str
    careful: int = 4
    confused: int = 0
    """How many raters are of which kind."""

    def __post_init__(self) -> None:
        if min(self.careful, self.confused) < 0 or self.careful + self.confused < 2:
            raise InputError("agreement needs at least two raters")

    @property
    def title(self) -> str:
        """Return a few words for a progress bar."""
        return f"raters, {self.careful} careful, {self.confused} confused, seed {self.seed}"
