"""The command line `kernalign`: fit, predict, report, compare, demo.

Exit codes: 0 done; 1 an error of the program; 2 a wrong command line; 3 data that cannot be used;
4 a model file that cannot be used; 5 a file or standard output that cannot be written; 130
interrupted; 128 + n ended by signal n. With --json there is one JSON object, also for an error.
"""

from kernalign.cli.main import main

__all__ = ["main"]
