"""`python -m epochlint`."""

import sys

from epochlint.cli.entry import main

if __name__ == "__main__":
    sys.exit(main())
