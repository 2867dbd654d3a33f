"""Pages that the model is sure about, and companies that track people."""

from pathlib import Path

from .site import Site

ROOT = Path(__file__).resolve().parents[2]
HEALTH = (ROOT / "src" / "eitr" / "assets" / "sample.html").read_text("utf-8")
RELIGION = """<!doctype html><title>Prayers in the church</title><p>The bishop led the prayers; the faithful sang
hymns and read the Bible and the gospel, and the priest spoke of God, of Jesus Christ, sin and salvation.</p>"""
FOOTBALL = """<!doctype html><title>Football</title><p>The match ended two to one after a goal in the last minute. The
team played well, the coach praised the goalkeeper, and the fans sang in the stadium.</p>"""
DUTCH = """<!doctype html><title>Kliniek aan de haven</title><p>De kliniek heeft een nieuwe arts. Zij is er ook voor wie
niet verzekerd is, en wie dat wil kan in het hospital van de stad een test krijgen voordat de behandeling begint.</p>"""
"""In a language that the model does not know, with English words in it."""
TRACKERS = ("www.google-analytics.com", "connect.facebook.net")
NO_TRACKER = "cdn.jsdelivr.net"


def tracked(site: Site, html: str) -> str:
    """The page with pictures of two companies that track people, and of one that does not."""
    pictures = "".join(f'<img src="{site.address(host, "/dot.gif")}" alt="">' for host in (*TRACKERS, NO_TRACKER))
    return html.replace("</body>", f"{pictures}</body>")
