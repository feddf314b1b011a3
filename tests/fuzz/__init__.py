"""Random attacks on files, fits, sequences of calls and command lines.

Each attack is a function of a seed that returns None, or what went wrong. `python -m tests.fuzz`
runs them for some minutes; a seed that found something is kept in `cases.json` and is tried by
every run of the tests from then on.
"""
