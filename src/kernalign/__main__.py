"""`python -m kernalign` is the command line `kernalign`."""

import sys

from kernalign.cli import main

if __name__ == "__main__":
    sys.exit(main())
