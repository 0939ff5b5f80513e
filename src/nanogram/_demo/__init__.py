"""Parts of the demonstration: the model, the measurements and the tables."""
