"""What each organisation runs. Replace `app` to train something else: a reply needs the arrays and `num-examples`."""

from eitr.flower.client_app import app

__all__ = ["app"]
