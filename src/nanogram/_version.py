"""The version, stated here alone; pyproject.toml reads it from this file."""

__version__ = "0.1.0.dev0"
