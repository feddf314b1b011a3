"""The command line `kernalign`: fit, predict, report, compare, demo.

Exit codes: 0 success; 1 internal error; 2 wrong command line; 3 data that cannot be used; 4 model
file that cannot be used; 5 file or standard output that cannot be written; 130 interrupted; 128 + n
ended by signal n. With --json the output is one JSON object, also for an error.
"""

from kernalign.cli.main import main

__all__ = ["main"]
