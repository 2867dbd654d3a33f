"""Federations on Flower: the rules as strategies that check every reply, keep reputations and survive restarts.

Needs the extra `eitr[flower]`, in an environment of its own (`docs/flower.md`). Modules that import Flower are imported
by name: `eitr.flower.strategy`, `eitr.flower.client_app` and `eitr.flower.server_app`.
"""
