"""Sphinx configuration; `make docs` builds it offline, warnings are errors."""

from nanogram._version import __version__

project = "nanogram"
author = "the nanogram maintainers"
copyright = f"2026, {author}"
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
    "matplotlib.sphinxext.plot_directive",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
nitpicky = False

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's Parameters sections say the types, with their meaning
numpydoc_show_class_members = False
plot_html_show_formats = False
plot_html_show_source_link = False
plot_formats = ["svg"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

html_theme = "pydata_sphinx_theme"
html_title = f"nanogram {version}"
html_show_sourcelink = False
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False}

# scikit-learn's own docstrings of set_..._request refer to its glossary.
suppress_warnings = ["ref.term", "ref.ref"]


def escape_bars(app, what, name, obj, options, lines):  # noqa: ARG001 (Sphinx calls it so)
    """|x| is a norm in our docstrings, not a substitution: bars outside literals get a backslash."""
    literal = None
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if literal is not None and line.strip() and indent <= literal:
            literal = None
        if literal is None and not line.lstrip().startswith((">>>", "...", "..")):
            parts = line.split("``")
            lines[number] = "``".join(part if k % 2 else part.replace("|", "\\|") for k, part in enumerate(parts))
        if literal is None and line.rstrip().endswith("::"):
            literal = indent


def setup(app):
    app.connect("autodoc-process-docstring", escape_bars, priority=900)
