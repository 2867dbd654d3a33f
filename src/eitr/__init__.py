"""EITR: learn to recognise sensitive web pages together, without sharing them, and survive poisoning clients."""

from importlib.metadata import version

__version__ = version("eitr")
