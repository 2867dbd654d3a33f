"""EITR: learn to recognise sensitive web pages together, without sharing them, and survive poisoning clients."""

__version__ = "0.1.0"
