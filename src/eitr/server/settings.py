"""What an operator can set: declared once, read from the environment or a file, documented by `eitr settings`."""

import difflib
import ipaddress
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, PrivateAttr, SecretStr, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    EnvSettingsSource,
    NoDecode,
    SettingsConfigDict,
)

from eitr.aggregation.fedavg import FedAvg
from eitr.aggregation.interface import Rule
from eitr.aggregation.registry import make_rule, rule_class
from eitr.cluster.engine import LOCAL, Engine
from eitr.errors import InputError
from eitr.model.plan import TrainingPlan
from eitr.model.private import PrivatePlan
from eitr.model.published_noise import epsilon
from eitr.model.round_plan import (
    FULL_STEP,
    LARGEST,
    LARGEST_BATCH,
    LARGEST_DROPOUT,
    LARGEST_RATE,
    LEAST_NOISE,
    MOST_BATCHES,
    MOST_COVER_PAGES,
    MOST_EPOCHS,
    PRIVATE,
)
from eitr.settings import parse_settings

PREFIX = "EITR_"
PASSWORDS = (re.compile(r"(?<=://)([^:@]*:).*(?=@)"), re.compile(r"([?&]password=)[^&]*", re.IGNORECASE))
"""The password in addresses such as scheme://user:password@host and scheme://host?password=password."""
ADDRESS_FILE = "address"
"""The file in the folder of a running server that says where it runs."""
Source = Literal["default", "environment", "file", "option"]
"""Where the value of a setting comes from."""
SHORTEST_SECRET = 16
BUCKET = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](?:/[A-Za-z0-9._-]+)*/?")
"""A bucket of an S3-compatible server, and a prefix in it."""
MAIL_ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
"""What mail servers and browsers take for an address; no line break, comma or quotation mark can be part of it."""
OTHER_VARIABLES = frozenset(
    {
        "EITR_AXE",
        "EITR_CHROMIUM",
        "EITR_CUDA_GRAPHS",
        "EITR_DATA",
        "EITR_FIREFOX",
        "EITR_IMAGE_LANES",
        "EITR_PLUGINS",
        "EITR_SETTINGS",
        "EITR_THREADS",
    }
)
"""Variables that are no settings of the server: other parts of EITR, and its tests, read them."""
LONGEST_SECONDS = 366 * 86400.0
MOST_DAYS = 36_500.0
MOST = 1_000_000_000
"""No count comes near it; larger ones would not fit into the database, or into a moment of time."""
Days = Annotated[float, Field(gt=0, le=MOST_DAYS)]
Seconds = Annotated[float, Field(gt=0, le=LONGEST_SECONDS)]
SecondsOrNone = Annotated[float, Field(ge=0, le=LONGEST_SECONDS)]
Count = Annotated[int, Field(ge=1, le=MOST)]


class ServerSettings(BaseSettings):
    """Each is the variable `EITR_` and its name in capitals, or a line of the file that `EITR_SETTINGS` names."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True, validate_default=True)

    folder: Path = Field(Path("eitr-server"), description="Where the server keeps its key, and its SQLite database.")
    database: str = Field(
        "", description="Address of the database, such as postgresql+psycopg://user@host/name; empty: SQLite."
    )
    update_store: str = Field(
        "",
        description="Where the bytes of updates are kept until their round ends: a folder, or s3://BUCKET/PREFIX "
        "(needs the extra s3; credentials from AWS_ACCESS_KEY_ID and the other standard variables). The same for all "
        "processes of a server. Empty: the folder `updates` in EITR_FOLDER.",
    )
    database_connections: int = Field(
        20,
        ge=5,
        le=1000,
        description="Connections to the database that a process opens at most; PostgreSQL takes 100 altogether unless "
        "its max_connections says otherwise.",
    )
    host: str = Field("127.0.0.1", description="The address to listen on; 0.0.0.0 for all.")
    port: int = Field(8000, ge=0, le=65535, description="The port to listen on; 0 for any that is free.")
    share_port: bool = Field(
        False,
        description="Whether other processes of this server on this machine may listen on the same port: the system "
        "spreads connections among them. Only with PostgreSQL.",
    )
    public_address: str = Field(
        "", description="How others reach the server, such as https://eitr.example.org; empty: host and port."
    )
    proxies: str = Field(
        "127.0.0.1", description="Addresses of reverse proxies whose X-Forwarded-For and -Proto are used."
    )
    downloads: Path | None = Field(
        None,
        description="The folder with eitr-chrome.zip and eitr-firefox.zip, which /extension offers; "
        "none: those of the package.",
    )
    study_templates: Path | None = Field(
        None,
        description="The folder with a research group's own texts and logo for the study site; none: those of the "
        "package. docs/study.md says what it may hold.",
    )
    worker: bool = Field(True, description="Whether `eitr serve` also runs rounds; if not, run `eitr worker`.")

    enrolment: Literal["auto", "open", "invitation"] = Field(
        "auto",
        description="Who may take part: open (anybody), invitation (people with a code), or auto (open if only this "
        "machine reaches the server, by EITR_HOST and EITR_PUBLIC_ADDRESS; else invitation).",
    )
    enrolments_per_hour: Count = Field(
        20, description="New participants without an invitation from one network address in an hour."
    )
    established_rounds: int = Field(
        5,
        ge=1,
        le=10_000,
        description="Rounds with weight after which a participant is established; once five are, newcomers "
        "together have at most a quarter of the weight.",
    )
    bounds: bool = Field(
        True,
        description="Whether newcomers and networks are bounded; false lifts all bounds, for demonstrations and tests.",
    )

    rule: str = Field("fused", description="The aggregation rule; `eitr rules` lists them.")
    rule_settings: Annotated[list[str], NoDecode] = Field(
        [], description='Its settings, such as ramp=5,low=0.5, or as a JSON list: ["ramp=5"].'
    )
    engine: str = Field(
        LOCAL,
        description="What computes rounds: local (the worker's process), ray (the Ray cluster of its machine), or "
        "ray:HOST:PORT. Needs `pip install 'eitr[ray]'`. If the cluster fails, the worker computes the round itself.",
    )
    first_model: Path | None = Field(
        None,
        description="The folder of the model that a new server begins with: model.safetensors, vocabulary.json and, "
        "for private training, pool.bin; none: the model of the package. Ignored once there is a model.",
    )
    validation_pages: Path | None = Field(
        None, description="Pages of known class that models are scored with, JSON lines; none: those of the package."
    )
    margin: float = Field(
        0.01,
        ge=0,
        le=1,
        description="How much accuracy on these pages a model may lose against the best and the first version, even if "
        "chance explains it; steps that lose more are shortened, and if that does not help, the round is quarantined. "
        "One page may be lost even with 0. 1: any loss is allowed.",
    )
    class_margin: float = Field(
        0.05,
        ge=0,
        le=1,
        description="The same for the pages of each class with at least 20 of them. One page may be lost even with 0. "
        "1: any loss is allowed.",
    )

    automatic_rounds: bool = Field(True, description="Whether a new round opens by itself when the last one ended.")
    round_seconds: Seconds = Field(86400.0, description="How long a round stays open at most.")
    pause_seconds: SecondsOrNone = Field(60.0, description="How long to wait between two rounds.")
    quorum: Count = Field(20, description="Updates after which a round closes, EITR_GRACE_SECONDS later.")
    grace_seconds: SecondsOrNone = Field(0.0, description="How long a round stays open after the quorum was reached.")
    maximum: Count = Field(
        1000, description="Updates at which a round is full; it closes at once, unless all are of newcomers."
    )
    minimum: Count = Field(5, description="With fewer updates, a round is abandoned at its deadline.")

    training: Literal["private", "paper"] = Field(
        "private",
        description="How participants train: private (the last layers, with cover pages and noise), or paper (all "
        "layers, for research: such updates give away which words occur on participants' pages).",
    )
    layers: Count = Field(
        1, description="Private training: how many of the last layers are trained, never the first one."
    )
    cover_pages: int = Field(
        200,
        ge=0,
        le=MOST_COVER_PAGES,
        description="Private training: public pages that are trained on beside own ones.",
    )
    own_weight: float = Field(
        4.0,
        gt=0,
        le=LARGEST,
        description="Private training: how much the own pages together count beside a cover page.",
    )
    noise: float = Field(
        4.0,
        ge=0,
        le=LARGEST,
        description="Private training: standard deviation of the noise, in multiples of the most that a person's "
        "pages can move the parameters; at least 4.",
    )
    clip: float = Field(
        0.2, gt=0, le=LARGEST, description="Private training: the longest gradient of a page; longer ones are cut."
    )
    private_learning_rate: float = Field(
        0.1,
        gt=0,
        le=LARGEST,
        description="Private training: learning rate of the one step if the quorum is at least 50; smaller in "
        "proportion with a smaller quorum, because less of the noise averages out.",
    )
    epochs: int = Field(
        10, ge=1, le=MOST_EPOCHS, description="Training as in the paper: passes over a participant's pages."
    )
    max_batches: int = Field(
        30, ge=1, le=MOST_BATCHES, description="Training as in the paper: batches in an epoch, at most."
    )
    batch_size: int = Field(64, ge=1, le=LARGEST_BATCH, description="Training as in the paper: pages in a batch.")
    learning_rate: float = Field(
        0.01, gt=0, le=LARGEST_RATE, description="Training as in the paper: learning rate of SGD."
    )
    momentum: float = Field(0.8, ge=0, lt=1, description="Training as in the paper: momentum of SGD.")
    dropout: float = Field(
        0.5,
        ge=0,
        le=LARGEST_DROPOUT,
        description="Training as in the paper: the share of hidden units that dropout sets to 0.",
    )

    published_noise: float = Field(
        0.0,
        ge=0,
        le=MOST,
        description="Formal privacy: standard deviation of the noise that is added to the sum of a round's updates, in "
        "multiples of the longest step that one participant can have in it; 0: none. Needs `pip install "
        "'eitr[formal]'`, EITR_RULE=fedavg, private training, and EITR_MAXIMUM equal to EITR_QUORUM.",
    )
    published_clip: float = Field(
        1.1,
        gt=0,
        le=LARGEST,
        description="Formal privacy: the length to which each participant's step is cut, in multiples of the length "
        "that the noise of an honest update has by itself.",
    )
    epsilon_delta: float = Field(
        1e-5,
        gt=0,
        lt=1,
        description="Formal privacy: the delta for which epsilon is computed; well below 1 / number of participants.",
    )
    epsilon_limit: float = Field(
        0.0,
        ge=0,
        le=LARGEST,
        description="Formal privacy: no round opens that would bring epsilon above this; 0: no limit.",
    )

    uploads_at_once: Count = Field(128, description="Updates received at the same time; further ones wait.")
    upload_seconds: Seconds = Field(60.0, description="How long one update may take to arrive.")
    requests_per_minute: Count = Field(600, description="Requests from one network address in a minute.")
    lease_seconds: Seconds = Field(
        30.0, description="Seconds after which another worker takes over from one that stopped."
    )
    poll_seconds: Seconds = Field(0.5, description="How often a worker looks for something to do.")

    keep_observations_days: Days = Field(
        365.0, description="How long updates, observations and reputations by round are kept."
    )
    keep_steps_days: Days = Field(
        30.0,
        description="How long the rule remembers steps of a participant after their last round; it forgets them sooner "
        "if they stay away for many rounds (fused: 21).",
    )
    keep_participants_days: Days = Field(730.0, description="How long a participant is kept after they were last seen.")
    keep_audit_days: Days = Field(365.0, description="How long entries of the audit log are kept.")
    keep_contacts_days: Days = Field(
        90.0, description="How long e-mail addresses for rewards are kept after their study was closed."
    )
    keep_study_days: Days = Field(
        730.0, description="How long people, consents, labels and terms of a study are kept after it was closed."
    )
    keep_models: Count = Field(1000, description="How many old versions of the model are kept.")
    session_hours: float = Field(
        12.0, gt=0, le=LONGEST_SECONDS / 3600, description="Hours after which an operator must sign in again."
    )

    study_private_pages: bool = Field(
        False,
        description="Whether the check of a study's pages may ask addresses of this machine and of private networks: "
        "for tests.",
    )

    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="What is logged; of libraries, warnings and errors only."
    )
    metrics: bool = Field(True, description="Whether /metrics answers; it names no participant.")
    metrics_token: SecretStr = Field(
        SecretStr(""),
        description="The bearer token that /metrics asks for; empty: it answers this machine only, not a proxy.",
    )

    alert_seconds: Seconds = Field(
        60.0, description="How often the server looks for problems that operators are alerted of."
    )
    alert_webhook: SecretStr = Field(
        SecretStr(""),
        description="Where alerts are posted as JSON, such as https://chat.example.org/hook; empty: nowhere.",
    )
    alert_webhook_secret: SecretStr = Field(
        SecretStr(""),
        description="The key of the HMAC-SHA256 in the header X-EITR-Signature of these posts, at least 16 characters; "
        "empty: they are not signed.",
    )
    alert_email: str = Field(
        "", description="E-mail addresses that alerts are sent to, separated by commas; empty: no e-mail."
    )
    smtp_host: str = Field("", description="The mail server that takes e-mail for EITR_ALERT_EMAIL.")
    smtp_port: int = Field(587, ge=1, le=65535, description="Its port: usually 587 for starttls, and 465 for tls.")
    smtp_security: Literal["starttls", "tls", "none"] = Field(
        "starttls",
        description="How the connection to it is encrypted: starttls, tls (from its first byte on), or none (not at "
        "all: only for a mail server on this machine or in a network that you trust).",
    )
    smtp_user: str = Field("", description="The name to sign in with at the mail server; empty: without.")
    smtp_password: SecretStr = Field(SecretStr(""), description="The password to sign in with at the mail server.")
    smtp_from: str = Field("", description="The sender of e-mail, such as eitr@example.org.")

    _sources: dict[str, Source] = PrivateAttr(default_factory=dict)

    @field_validator("database")
    @classmethod
    def _known_database(cls, value: str) -> str:
        if value and not value.startswith(("sqlite:///", "postgresql+psycopg://")):
            raise ValueError("must begin with sqlite:/// or postgresql+psycopg://")
        return value

    @field_validator("update_store")
    @classmethod
    def _known_store(cls, value: str) -> str:
        if "://" not in value:
            return value
        if not BUCKET.fullmatch(value):  # credentials in it are not repeated
            raise ValueError("write a folder, or s3:// and the name of a bucket, such as s3://eitr/updates")
        return value

    @field_validator("rule_settings", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        """Read `name=value,name=value`, or a JSON list of such texts."""
        if not isinstance(value, str):
            return value
        text = value.strip()
        if not text.startswith("["):
            return [part.strip() for part in text.split(",")] if text else []
        try:
            return json.loads(text)
        except ValueError:
            raise ValueError('write ramp=5,low=0.5, or a JSON list such as ["ramp=5"]') from None

    @field_validator("engine")
    @classmethod
    def _known_engine(cls, value: str) -> str:
        Engine.parse(value)
        return value

    @field_validator("public_address")
    @classmethod
    def _whole_address(cls, value: str) -> str:
        value = value.rstrip("/")
        if not value:
            return value
        try:
            found = urlsplit(value)
            port_known = found.port is None or found.port > 0
        except ValueError:
            port_known = False
        if not port_known or found.scheme not in ("http", "https") or not found.hostname or found.path or found.query:
            raise ValueError("write https:// and the name of the server, such as https://eitr.example.org")
        return value

    @field_validator("noise")
    @classmethod
    def _enough_noise(cls, value: float) -> float:
        if value < LEAST_NOISE:
            raise ValueError(f"participants refuse plans with noise below {LEAST_NOISE:g}: set at least so much")
        return value

    @field_validator("alert_webhook")
    @classmethod
    def _web_address(cls, value: SecretStr) -> SecretStr:
        address = value.get_secret_value()
        if address and not _is_web_address(address):
            raise ValueError("must be an address that begins with https:// or http://")  # not repeated: it is a secret
        return value

    @field_validator("alert_webhook_secret")
    @classmethod
    def _long_secret(cls, value: SecretStr) -> SecretStr:
        if 0 < len(value.get_secret_value()) < SHORTEST_SECRET:
            raise ValueError(f"must have at least {SHORTEST_SECRET} characters: `openssl rand -hex 32` makes some")
        return value

    @field_validator("alert_email", "smtp_from")
    @classmethod
    def _mail_addresses(cls, value: str, info: ValidationInfo) -> str:
        addresses = mail_addresses(value)
        if any(not MAIL_ADDRESS.fullmatch(one) for one in addresses):
            raise ValueError("must be an e-mail address without a name, such as eitr@example.org")
        if info.field_name == "smtp_from" and len(addresses) > 1:
            raise ValueError("must be one e-mail address")
        return value

    @model_validator(mode="after")
    def _alerts_can_be_sent(self) -> Self:
        if self.alert_email and not (self.smtp_host and self.smtp_from):
            raise ValueError("EITR_ALERT_EMAIL needs a mail server and a sender: set EITR_SMTP_HOST and EITR_SMTP_FROM")
        if bool(self.smtp_user) != bool(self.smtp_password.get_secret_value()):
            raise ValueError("EITR_SMTP_USER and EITR_SMTP_PASSWORD belong together: set both, or neither")
        if self.smtp_user and self.smtp_security == "none":
            raise ValueError("EITR_SMTP_SECURITY=none would send the password unencrypted: use starttls or tls")
        return self

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.share_port and (not self.database.startswith("postgresql") or self.port == 0):
            raise ValueError("EITR_SHARE_PORT=true needs a PostgreSQL in EITR_DATABASE, and a port that is not 0")
        if not self.minimum <= self.quorum <= self.maximum:
            raise ValueError(f"minimum, quorum and maximum must rise: {self.minimum}, {self.quorum} and {self.maximum}")
        try:
            self.make_rule().check_inputs({"base"})  # the server has no parameters trained on trusted pages
        except InputError as error:
            raise ValueError(str(error)) from error
        return self

    @model_validator(mode="after")
    def _formal_privacy_holds(self) -> Self:
        """Refuse settings with which one participant could change more of a published model than the noise hides."""
        if not self.published_noise:
            if self.epsilon_limit:
                raise ValueError("EITR_EPSILON_LIMIT limits nothing without noise: set EITR_PUBLISHED_NOISE, too")
            return self
        if self.training != PRIVATE:
            raise ValueError("EITR_PUBLISHED_NOISE needs EITR_TRAINING=private")
        if self.make_rule() != FedAvg():
            raise ValueError(
                f"EITR_PUBLISHED_NOISE cannot be used with the rule {self.rule!r} and its settings: what one "
                "participant's updates do to the weights of others has no bound, so that no noise could hide it. Use "
                f"EITR_RULE={FedAvg.name} without EITR_RULE_SETTINGS"
            )
        if self.maximum != self.quorum:
            raise ValueError(
                "EITR_PUBLISHED_NOISE needs rounds whose number of participants is fixed: set EITR_MAXIMUM to "
                f"EITR_QUORUM, which is {self.quorum}"
            )
        try:
            first = epsilon({self.published_noise: 1}, self.epsilon_delta)
        except InputError as error:
            raise ValueError(f"EITR_PUBLISHED_NOISE: {error}") from error
        if self.epsilon_limit and first > self.epsilon_limit:
            raise ValueError(
                f"EITR_EPSILON_LIMIT={self.epsilon_limit:g} allows no round: one costs an epsilon of {first:.3g}; "
                "raise EITR_PUBLISHED_NOISE or the limit"
            )
        return self

    def make_rule(self) -> Rule:
        """Return the rule that rounds are aggregated by."""
        return make_rule(self.rule, **parse_settings(rule_class(self.rule), self.rule_settings))

    def source(self, name: str) -> Source:
        """Return where the value of a setting comes from."""
        return self._sources.get(name, "option" if name in self.model_fields_set else "default")

    @property
    def invited_only(self) -> bool:
        """Whether people need an invitation to take part."""
        if self.enrolment == "auto":
            return not (_on_this_machine(self.host) and _on_this_machine(_host_of(self.public_address)))
        return self.enrolment == "invitation"

    @property
    def private_plan(self) -> PrivatePlan:
        """The instructions for private training."""
        return PrivatePlan(
            layers=self.layers,
            cover_pages=self.cover_pages,
            own_weight=self.own_weight,
            clip=self.clip,
            learning_rate=self.private_learning_rate * min(self.quorum, FULL_STEP) / FULL_STEP,
            noise=self.noise,
        )

    @property
    def paper_plan(self) -> TrainingPlan:
        """The instructions for training as in the paper."""
        return TrainingPlan(
            epochs=self.epochs,
            max_batches=self.max_batches,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            momentum=self.momentum,
            dropout=self.dropout,
        )

    @property
    def own_address(self) -> str:
        """How others reach the server, for links; nothing if that is not known before it listens.

        A server may have been started with another --port than these settings have: it says where it runs.
        """
        if self.public_address:
            return self.public_address.rstrip("/")
        try:
            return (self.folder / ADDRESS_FILE).read_text("utf-8").strip().rstrip("/")
        except OSError:  # it does not run, or in another folder
            return f"http://{self.host}:{self.port}" if self.port else ""

    @property
    def https(self) -> bool:
        """Whether browsers reach the server by https."""
        return self.public_address.startswith("https://")

    @property
    def database_address(self) -> str:
        """The address of the database, the default one written out."""
        return self.database or f"sqlite:///{self.folder / 'eitr.db'}"


def read_settings(file: Path | None = None, **given: Any) -> ServerSettings:
    """Read the settings: what is given, else the environment, else the file, else the defaults."""
    if file is not None and not file.is_file():
        raise InputError(f"{file}: there is no such file of settings")
    options = {name: value for name, value in given.items() if value is not None}
    _refuse_unknown(name for name in os.environ if name.upper().startswith(PREFIX) and name not in OTHER_VARIABLES)
    if file is not None:
        _refuse_unknown(_names_in(file))
    try:
        found = ServerSettings(_env_file=file, **options)  # type: ignore[call-arg]
        in_file = {} if file is None else DotEnvSettingsSource(ServerSettings, env_file=file)()
        sources: tuple[tuple[Source, Iterable[str]], ...] = (
            ("file", in_file),
            ("environment", EnvSettingsSource(ServerSettings)()),
            ("option", options),
        )
        for source, names in sources:  # the last one wins
            found._sources.update(dict.fromkeys(names, source))
        return found
    except ValidationError as error:
        raise InputError("; ".join(_complaints(error))) from None


def _names_in(file: Path) -> list[str]:
    try:
        return list(DotEnvSettingsSource(ServerSettings, env_file=file).env_vars)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: the file of settings cannot be read: {error}") from error


def _refuse_unknown(names: Iterable[str]) -> None:
    """Refuse a variable that is no setting: a typing error would otherwise leave the default in effect."""
    known = {variable(name) for name, _ in described()}
    for name in names:
        written = name.upper()
        if written in known:
            continue
        near = difflib.get_close_matches(written, known, n=1)
        hint = f"did you mean {near[0]}?" if near else "`eitr settings` lists all"
        raise InputError(f"{written}: there is no such setting; {hint}")


def described() -> list[tuple[str, FieldInfo]]:
    """Return every setting's name and declaration."""
    return list(ServerSettings.model_fields.items())


def shown(value: object) -> str:
    """Return the value of a setting as people may read it: without tokens and passwords.

    >>> shown(SecretStr("x")), shown(SecretStr("")), shown(None), shown(["ramp=5"])
    ('(hidden)', '', '', 'ramp=5')
    >>> shown("postgresql+psycopg://eitr:secret@db/eitr")
    'postgresql+psycopg://eitr:(hidden)@db/eitr'
    >>> shown("postgresql+psycopg://eitr:a:b/c@d@db/eitr?password=x&user=y")
    'postgresql+psycopg://eitr:(hidden)@db/eitr?password=(hidden)&user=y'
    """
    if isinstance(value, SecretStr):
        return "(hidden)" if value.get_secret_value() else ""
    if isinstance(value, list):
        return ", ".join(shown(one) for one in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.15g}"
    text = "" if value is None else str(value)
    for password in PASSWORDS:
        text = password.sub(r"\1(hidden)", text)
    return text


def variable(name: str) -> str:
    """Return the environment variable of a setting.

    >>> variable("round_seconds")
    'EITR_ROUND_SECONDS'
    """
    return PREFIX + name.upper()


def _host_of(address: str) -> str:
    """Return the host of the public address, which was checked; of an empty one, this machine."""
    return (urlsplit(address).hostname or "") if address else "localhost"


def _on_this_machine(host: str) -> bool:
    """Say whether a host is a loopback address or a name for one.

    >>> [_on_this_machine(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "eitr.example.org", "")]
    [True, True, True, False, False, False]
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower().removesuffix(".") == "localhost"


def mail_addresses(value: str) -> list[str]:
    """Return the addresses of a setting, in which commas separate them.

    >>> mail_addresses("ada@example.org, grace@example.org")
    ['ada@example.org', 'grace@example.org']
    """
    return [one.strip() for one in value.split(",") if one.strip()]


def _is_web_address(value: str) -> bool:
    try:
        parts = urlsplit(value)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        return known and value.isprintable() and " " not in value
    except ValueError:
        return False


def _complaints(error: ValidationError) -> list[str]:
    found = []
    for one in error.errors():
        place = ".".join(str(part) for part in one["loc"])
        reason = one["msg"].removeprefix("Value error, ")
        found.append(f"{variable(place)}: {reason}" if place else reason)
    return found
