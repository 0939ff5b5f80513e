"""Laws of random projections, and the generator they draw from (`counter`)."""

from .counter import Stream, row_keys, seed_from

__all__ = ["Stream", "row_keys", "seed_from"]
