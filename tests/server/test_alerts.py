"""Alerts reach a real mail server and a real HTTP server: once per problem, again only after it had ended."""

import hashlib
import hmac
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import select
from typer.testing import CliRunner

from eitr.cli import app
from eitr.errors import InputError
from eitr.server.composition.wiring import build_services
from eitr.server.db.tables import AlertRow, AuditRow, RoundRow, RoundStatus
from eitr.server.delivery.channels import channels_of
from eitr.server.delivery.failures import DeliveryError
from eitr.server.delivery.mail import Mail
from eitr.server.delivery.message import Event, Message
from eitr.server.delivery.webhook import Webhook
from eitr.server.domain import alerts as module
from eitr.server.domain import switches
from eitr.server.domain.alerts import Alerts, undelivered
from eitr.server.domain.clock import now
from eitr.server.settings import read_settings
from tests.server.federation import Federation
from tests.server.receivers import HttpReceiver, MailReceiver, certificate_of, silent_server
from tests.server.waiting import until

pytestmark = pytest.mark.either_database

SECRET = "0123456789abcdef-secret"
MESSAGE = Message(id="m", event=Event.TEST, kind="test", what="What happened.", do="Do this.", raised=now())


@pytest.fixture
def http():
    found = HttpReceiver()
    yield found
    found.close()


@pytest.fixture
def mail():
    found = MailReceiver()
    yield found
    found.close()


@pytest.fixture
def alerted(address, tmp_path, http, mail):
    """A federation whose operators get alerts by webhook and e-mail."""
    found = Federation(
        tmp_path,
        address,
        public_address="https://eitr.example.org",
        alert_webhook=http.address,
        alert_webhook_secret=SECRET,
        alert_email="ada@example.org, grace@example.org",
        smtp_host="localhost",
        smtp_port=mail.port,
        smtp_security="none",
        smtp_from="eitr@example.org",
    )
    yield found
    found.close()


def looked_twice(alerts):
    for _ in range(2):
        alerts.step()


def rows(federation):
    with federation.database.reading() as session:
        return session.scalars(select(AlertRow).order_by(AlertRow.id)).all()


def test_a_problem_is_told_once_and_once_more_when_it_has_ended(alerted, http, mail) -> None:
    alerts = Alerts(alerted.database, alerted.settings)
    alerts.step()
    switches.pause(alerted.database, "ada", "a secret reason")
    alerts.step()
    assert http.received == []  # seen once: it may be a moment of a restart
    for _ in range(3):
        alerts.step()
    (posted,), (received,) = http.received, mail.mails
    told = posted.document
    assert (told["event"], told["kind"], told["severity"]) == ("raised", "paused", "warning")
    assert told["link"] == "https://eitr.example.org/#pause"
    assert told["what"].startswith("Rounds have been paused since")
    signed = hmac.new(SECRET.encode(), posted.body, hashlib.sha256).hexdigest()
    assert posted.headers["X-EITR-Signature"] == f"sha256={signed}"
    assert received["To"] == "ada@example.org, grace@example.org"
    assert received["From"] == "eitr@example.org"
    assert received["Subject"].startswith("EITR: Rounds have been paused since")
    assert received["Auto-Submitted"] == "auto-generated"
    assert received["Content-Transfer-Encoding"] == "7bit"
    assert "What to do: Resume them on the overview" in received.get_content()
    assert "secret reason" not in str(received) + str(told)

    switches.resume(alerted.database, "ada")
    for _ in range(4):
        alerts.step()
    assert [one.document["event"] for one in http.received] == ["raised", "ended"]
    assert [one["Subject"].partition(":")[0] for one in mail.mails] == ["EITR", "EITR, ended"]
    assert mail.mails[1]["In-Reply-To"] == mail.mails[0]["Message-ID"]
    assert "This problem has ended" in mail.mails[1].get_content()

    switches.pause(alerted.database, "ada", "")
    looked_twice(alerts)
    assert [one.document["event"] for one in http.received] == ["raised", "ended", "raised"]
    assert len(mail.received) == 3
    assert len({one["Message-ID"] for one in mail.mails}) == 3
    first, second = rows(alerted)
    assert (first.active, first.ended is None, second.active) == (None, False, True)
    assert {channel: sorted(events) for channel, events in first.delivered.items()} == {
        "webhook": ["ended", "raised"],
        "e-mail": ["ended", "raised"],
    }
    with alerted.database.reading() as session:
        done = select(AuditRow.action).where(AuditRow.who == "server", AuditRow.action.contains("alert"))
        assert session.scalars(done.order_by(AuditRow.id)).all() == [
            "raised an alert",
            "ended an alert",
            "raised an alert",
        ]


def test_of_several_processes_one_tells(alerted, http, mail) -> None:
    switches.pause(alerted.database, "ada", "")
    processes = [Alerts(alerted.database, alerted.settings) for _ in range(4)]
    for number in range(3):
        start = threading.Barrier(len(processes))

        def look(alerts, start=start):
            start.wait()
            alerts.step()

        threads = [threading.Thread(target=look, args=(one,)) for one in processes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(http.received) == (0 if number == 0 else 1)
    assert len(mail.received) == 1
    assert len(rows(alerted)) == 1


def test_what_a_killed_process_was_sending_another_one_sends(alerted, http, mail, clock) -> None:
    switches.pause(alerted.database, "ada", "")
    killed, other = (Alerts(alerted.database, alerted.settings) for _ in range(2))
    killed.channels = ()
    looked_twice(killed)  # raised, and not sent
    killed.channels = other.channels
    assert killed._claimed({"paused"}).channel.name == "webhook"
    looked_twice(other)
    assert (len(http.received), len(mail.received)) == (0, 1)
    clock.forward(module.LEASE_SECONDS + 1)
    other.step()
    assert (len(http.received), len(mail.received)) == (1, 1)


def test_what_is_not_delivered_is_tried_again_later_and_shown(alerted, http, mail, clock) -> None:
    alerts = Alerts(alerted.database, alerted.settings)
    http.status, http.headers = 302, {"Location": "/elsewhere"}
    switches.pause(alerted.database, "ada", "")
    looked_twice(alerts)
    assert [one.path for one in http.received] == ["/hook/s3cret-token"]  # the redirect is not followed
    assert len(mail.received) == 1  # one channel that fails does not stop another
    with alerted.database.reading() as session:
        problem = undelivered(session)
    assert problem.what == (
        "An alert could not be delivered by webhook: the answer had the status 302, and redirects are not followed."
    )
    assert "s3cret" not in str(rows(alerted)[0].delivered)
    alerts.step()
    assert len(http.received) == 1
    for attempt, wait in ((2, module.FIRST_WAIT), (3, 2 * module.FIRST_WAIT)):
        clock.forward(wait + 1)
        looked_twice(alerts)
        assert len(http.received) == attempt
    http.status = 200
    clock.forward(4 * module.FIRST_WAIT + 1)
    looked_twice(alerts)
    assert len(http.received) == 4
    assert rows(alerted)[0].delivered["webhook"]["raised"]["attempts"] == 4
    with alerted.database.reading() as session:
        assert undelivered(session) is None
    assert len(mail.received) == 1


def test_of_a_problem_that_ended_before_it_could_be_told_only_the_end_is_told(alerted, http, clock) -> None:
    alerts = Alerts(alerted.database, alerted.settings)
    http.status = 500
    switches.pause(alerted.database, "ada", "")
    looked_twice(alerts)
    switches.resume(alerted.database, "ada")
    http.status = 200
    clock.forward(module.LONGEST_WAIT)
    looked_twice(alerts)
    assert [one.document["event"] for one in http.received] == ["raised", "ended"]
    http.received.clear()
    clock.forward(module.GIVE_UP.total_seconds())
    looked_twice(alerts)
    assert http.received == []


def test_another_machines_full_disk_is_not_declared_over(alerted, http) -> None:
    with alerted.database.writing() as session:
        row = AlertRow(kind="disk@elsewhere", active=True, text="full", raised=now(), delivered={})
        session.add(row)
    alerts = Alerts(alerted.database, alerted.settings)
    for _ in range(3):
        alerts.step()
    assert rows(alerted)[0].active
    assert http.received == []  # that machine tells


def test_a_receiver_that_never_answers_does_not_delay_rounds(address, tmp_path) -> None:
    with silent_server() as (port, came):
        settings = read_settings(
            folder=tmp_path,
            database=address,
            worker=False,
            alert_webhook=f"http://127.0.0.1:{port}/",
            alert_seconds=0.01,
        )
        services = build_services(settings)
        switches.pause(services.database, "ada", "")
        services.start()
        came.get(timeout=300)  # it is being sent, and will be for ten seconds
        federation = Federation(tmp_path, address)
        switches.resume(services.database, "ada")
        number = federation.full_round(federation.enrol(4))
        federation.worker().step()
        assert federation.rounds.get(number).status == RoundStatus.PUBLISHED
        assert services.alerts._thread.is_alive()
        federation.close()
    services.stop()


def test_a_server_without_channels_starts_no_thread_and_keeps_no_rows(federation) -> None:
    alerts = Alerts(federation.database, federation.settings)
    alerts.start()
    assert not alerts._thread.is_alive()
    alerts.stop()


def test_a_running_server_tells_that_its_worker_is_missing(alerted, http, mail, tmp_path) -> None:
    """A process that runs no rounds: who else could tell that nobody does?"""
    number = alerted.full_round(alerted.enrol(1))
    with alerted.database.writing() as session:
        session.get_one(RoundRow, number).deadline -= timedelta(days=2)
    services = build_services(alerted.settings.model_copy(update={"worker": False, "alert_seconds": 0.01}))
    services.start()
    until(lambda: len(http.received) > 0 and len(mail.received) > 0, "the alert")
    services.stop()
    assert http.received[0].document["kind"] == "worker"
    assert f"the end of round {number} was due at" in http.received[0].document["what"]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return certificate_of("localhost", tmp_path_factory.mktemp("certificate"))


class TestMail:
    def channel(self, receiver, **values):
        usual = Mail(
            host="localhost",
            port=receiver.port,
            security="none",
            user="",
            password="",
            sender="eitr@example.org",
            recipients=("ada@example.org", "grace@example.org"),
        )
        return replace(usual, **values)

    @pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")  # it does not count TLS from the start
    @pytest.mark.parametrize("security", ["starttls", "tls"])
    def test_it_signs_in_over_an_encrypted_connection(self, certificate, monkeypatch, security) -> None:
        receiver = MailReceiver(certificate, login=("eitr", "pass word"), tls=security == "tls")
        signed_in = self.channel(receiver, security=security, user="eitr", password="pass word")
        with pytest.raises(DeliveryError, match="the certificate of the server is not valid"):
            signed_in.send(MESSAGE)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert signed_in.send(MESSAGE) == ""
        assert len(receiver.received) == 1
        with pytest.raises(DeliveryError, match=r"^the mail server rejected name or password \(535\)$"):
            replace(signed_in, password="wrong").send(MESSAGE)
        assert "pass word" not in repr(signed_in)
        receiver.close()

    def test_it_does_not_go_on_without_encryption(self, mail) -> None:
        with pytest.raises(DeliveryError, match="does not offer what EITR_SMTP_SECURITY"):
            self.channel(mail, security="starttls").send(MESSAGE)
        assert mail.received == []

    def test_recipients_that_are_refused_are_counted_and_not_named(self, mail) -> None:
        mail.refused = {"ada@example.org"}
        assert self.channel(mail).send(MESSAGE) == "the mail server refused 1 of 2 recipients"
        mail.refused |= {"grace@example.org"}
        with pytest.raises(DeliveryError, match=r"^the mail server refused all recipients$"):
            self.channel(mail).send(MESSAGE)
        assert len(mail.received) == 1

    def test_a_server_that_is_gone_silent_or_unknown_is_an_error_in_words(self, mail) -> None:
        with silent_server() as (port, _), pytest.raises(DeliveryError, match=r"did not answer within 0\.2 s"):
            self.channel(mail, port=port, timeout=0.2).send(MESSAGE)
        mail.close()
        with pytest.raises(DeliveryError, match=r"^the connection failed: Connection refused$"):
            self.channel(mail).send(MESSAGE)
        with pytest.raises(DeliveryError, match=r"^the connection failed: the name of the server is not known$"):
            self.channel(mail, host="nowhere.invalid").send(MESSAGE)


class TestWebhook:
    def test_errors_say_why_and_not_where(self, http) -> None:
        webhook = Webhook(http.address, "")
        assert webhook.send(MESSAGE) == ""
        assert "X-EITR-Signature" not in http.received[0].headers
        http.status = 403
        with pytest.raises(DeliveryError, match=r"^the answer had the status 403$"):
            webhook.send(MESSAGE)
        with silent_server() as (port, _), pytest.raises(DeliveryError, match=r"^there was no answer within 0\.2 s$"):
            Webhook(f"http://127.0.0.1:{port}/s3cret", "", timeout=0.2).send(MESSAGE)
        with pytest.raises(DeliveryError, match=r"^the connection failed: Connection refused$"):
            Webhook(f"http://127.0.0.1:{port}/s3cret", "").send(MESSAGE)
        with pytest.raises(DeliveryError, match=r"^the connection failed: the name of the server is not known$"):
            Webhook("http://nowhere.invalid/s3cret", "").send(MESSAGE)
        assert "s3cret" not in repr(webhook)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"alert_webhook": "ftp://example.org/s3cret"}, "EITR_ALERT_WEBHOOK: must be an address that begins with"),
        ({"alert_webhook": "https:///s3cret"}, "EITR_ALERT_WEBHOOK"),
        ({"alert_webhook": "https://example.org:99999/s3cret"}, "EITR_ALERT_WEBHOOK"),
        ({"alert_webhook_secret": "s3cret"}, "EITR_ALERT_WEBHOOK_SECRET: must have at least 16 characters"),
        ({"alert_email": "ada"}, "EITR_ALERT_EMAIL: must be an e-mail address"),
        ({"alert_email": "ada@example.org\nBcc: eve@example.org"}, "EITR_ALERT_EMAIL"),
        ({"alert_email": "ada@example.org"}, "set EITR_SMTP_HOST and EITR_SMTP_FROM"),
        ({"smtp_from": "a@example.org, b@example.org"}, "EITR_SMTP_FROM: must be one"),
        ({"smtp_user": "eitr"}, "EITR_SMTP_USER and EITR_SMTP_PASSWORD belong together"),
        ({"smtp_user": "eitr", "smtp_password": "s3cret", "smtp_security": "none"}, "unencrypted"),
    ],
)
def test_settings_that_cannot_work_are_refused_without_secrets(given, told) -> None:
    with pytest.raises(InputError, match=told) as error:
        read_settings(**given)
    assert "s3cret" not in str(error.value)


def test_secrets_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EITR_ALERT_WEBHOOK", "https://example.org/s3cret-token")
    for arguments in (["settings"], ["settings", "--json"]):
        assert "s3cret" not in CliRunner().invoke(app, arguments, env={"COLUMNS": "300"}).stdout
    assert len(channels_of(read_settings())) == 1


def test_the_command_sends_a_test_alert_and_says_what_became_of_it(tmp_path: Path, http, mail, monkeypatch) -> None:
    folder = str(tmp_path)
    listed = CliRunner().invoke(app, ["alert", "--folder", folder])
    assert listed.exit_code == 0
    assert listed.stdout.startswith("advice: New models are judged by the validation pages of the package.")
    with pytest.raises(InputError, match="no alerts are set up"):
        CliRunner().invoke(app, ["alert", "--test", "--folder", folder], catch_exceptions=False)
    for name, value in {
        "ALERT_WEBHOOK": http.address,
        "ALERT_EMAIL": "ada@example.org",
        "SMTP_HOST": "localhost",
        "SMTP_PORT": str(mail.port),
        "SMTP_SECURITY": "none",
        "SMTP_FROM": "eitr@example.org",
    }.items():
        monkeypatch.setenv(f"EITR_{name}", value)
    sent = CliRunner().invoke(app, ["alert", "--test", "--folder", folder])
    assert (sent.exit_code, sent.stdout) == (0, "webhook: delivered\ne-mail: delivered\n")
    assert http.received[0].document["event"] == "test"
    assert mail.mails[0]["Subject"].startswith("EITR, test: This is a test alert")
    http.status = 500
    failed = CliRunner().invoke(app, ["alert", "--test", "--folder", folder])
    assert (failed.exit_code, failed.stdout) == (1, "webhook: the answer had the status 500\ne-mail: delivered\n")
