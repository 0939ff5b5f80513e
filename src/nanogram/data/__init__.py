"""Where data sets are found, how each is cut, and the sample that comes with the package.

`nanogram.datasets` is the front door.
"""
