"""User errors, each with an exit code and one sentence."""

from __future__ import annotations

OK, PROGRAM, USAGE, DATA, MODEL, OUTPUT, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130
#: Added to the number of the signal that ended the program, as in shells.
SIGNALLED = 128


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
