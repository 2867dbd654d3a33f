"""Which channels the settings ask for."""

from eitr.server.delivery.mail import Mail
from eitr.server.delivery.message import Channel
from eitr.server.delivery.webhook import Webhook
from eitr.server.settings import ServerSettings, mail_addresses


def channels_of(settings: ServerSettings) -> list[Channel]:
    """Return the channels, ready to send; none if nothing is set."""
    found: list[Channel] = []
    if address := settings.alert_webhook.get_secret_value():
        found.append(Webhook(address, settings.alert_webhook_secret.get_secret_value()))
    if recipients := mail_addresses(settings.alert_email):
        found.append(mail_to(settings, tuple(recipients)))
    return found


def mail_to(settings: ServerSettings, recipients: tuple[str, ...]) -> Mail:
    """Return the mail server of the settings, and whom it is to reach."""
    return Mail(
        host=settings.smtp_host,
        port=settings.smtp_port,
        security=settings.smtp_security,
        user=settings.smtp_user,
        password=settings.smtp_password.get_secret_value(),
        sender=settings.smtp_from,
        recipients=recipients,
    )
