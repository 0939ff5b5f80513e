"""Contract tests that a new code, matrix or op must pass."""
