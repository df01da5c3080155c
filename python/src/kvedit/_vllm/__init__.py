"""Reads vLLM's objects by attribute: versions 0.25 to 0.33, and stand-ins for them."""

from .engine import layout_name
from .facts import facts_of

__all__ = ["facts_of", "layout_name"]
