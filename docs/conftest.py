"""Doctests of the pages; what the build generates or configures holds none."""

collect_ignore = ["conf.py", "docstrings.py", "gallery", "generated", "measured"]
