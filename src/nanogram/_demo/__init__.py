"""Parts of the demonstration: the measurements and the tables."""
