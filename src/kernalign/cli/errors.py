"""User errors, each with an exit code and one sentence."""

from __future__ import annotations

import re

OK, PROGRAM, USAGE, DATA, MODEL, OUTPUT, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130
#: Added to the number of the signal that ended the program, as in shells.
SIGNALLED = 128
#: What the command line offers instead of `kinds`, by the advice of the library (a pattern).
ADVICE = {
    r"To use one of them, give its kind, such as kinds=\{.*?\}\. The kind 'drop' leaves a column "
    r"out without this warning\.": "--drop leaves a column out without this note; using it needs "
    "its kind, which is given in Python.",
    r"To use one of them, give its kind, such as kinds=\{.*?\}\.": "Using one of them needs its "
    "kind, which is given in Python.",
    r"or use it as categories: kinds=\{.*?\}": "or leave the column out with --drop",
}


def for_shell(message: str) -> str:
    """A message of the library with advice for the command line instead of that for Python."""
    for python, shell in ADVICE.items():
        message = re.sub(python, shell, message)
    return message


class UserError(Exception):
    """An error that is shown as one sentence with a remedy, never as a traceback."""

    code = USAGE


class DataError(UserError):
    """A table that cannot be used as it is."""

    code = DATA


class ModelError(UserError):
    """A model file that cannot be used."""

    code = MODEL


class OutputError(UserError):
    """An output that cannot be written."""

    code = OUTPUT


class EndedError(Exception):
    """A signal that asks the program to end."""

    def __init__(self, number: int):
        super().__init__(number)
        self.code = SIGNALLED + number
