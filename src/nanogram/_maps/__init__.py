"""Private parts of the feature maps: rows in, scaling, the paths from rows to codes, the report."""
