"""Toolfold: an OpenAI-compatible reverse proxy that folds large `tools` arrays."""

__version__ = "0.1.0"
