"""Mistakes of the user, each with an exit code and one sentence."""

from __future__ import annotations

OK, PROGRAM, USAGE, DATA, MODEL, OUTPUT, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130
#: Added to the number of a signal that ends the program, as shells do.
SIGNALLED = 128


class UserError(Exception):
    """What went wrong and what to do, in a sentence that a person reads; never a traceback."""

    code = USAGE


class DataError(UserError):
    """A table that cannot be used as it is."""

    code = DATA


class ModelError(UserError):
    """A model file that cannot be used."""

    code = MODEL


class OutputError(UserError):
    """A place that cannot be written to."""

    code = OUTPUT


class EndedError(Exception):
    """A signal that asks the program to end."""

    def __init__(self, number: int):
        super().__init__(number)
        self.code = SIGNALLED + number
