"""The command line `kernalign`: fit, predict, report, compare, demo.

Exit codes: 0 done; 1 an error of the program; 2 a wrong command line; 3 data that cannot be used;
4 a model file that cannot be used; 5 a file that cannot be written; 130 interrupted.
"""

from kernalign.cli.main import main

__all__ = ["main"]
