"""TRF: ternary random features."""
