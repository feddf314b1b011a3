"""How the documentation is built: `make docs`, warnings as errors."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import kernalign

sys.path.insert(0, str(Path(__file__).parent))
# Examples are measured beside each other on few cores: one thread of BLAS each.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# A warning in an example is an error of the example.
warnings.simplefilter("error", category=UserWarning)

project = "kernalign"
author = "the kernalign developers"
copyright = "the kernalign developers"
version = release = kernalign.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "docstrings",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["measured/*", "_build", "gallery/*.py", "gallery/*.ipynb", "gallery/*.json"]
templates_path = ["_templates"]
# `name` is a link where there is something of that name, and code where there is not.
default_role = "py:obj"

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
# Members are listed by the template, which knows which ones are kernalign's own.
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1,
    "remove_config_comments": True,
    "matplotlib_animations": False,
    "doc_module": ("kernalign",),
    "backreferences_dir": "gallery/backreferences",
    "reference_url": {"kernalign": None},
    # As wide as the pictures are, so that their thumbnails have no margins.
    "thumbnail_size": (500, 200),
}

html_theme = "furo"
html_title = f"kernalign {version}"
html_static_path = ["_static"]
html_css_files = ["kernalign.css"]
html_show_sourcelink = False
html_copy_source = False
pygments_style = "friendly"
pygments_dark_style = "native"
