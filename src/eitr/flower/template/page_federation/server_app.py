"""What the SuperLink runs. For a model of your own, make an `eitr.flower.strategy.RuleStrategy` and call `start`."""

from eitr.flower.server_app import app

__all__ = ["app"]
