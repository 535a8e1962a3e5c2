"""`python -m pelton`: the same as the command `pelton` (`tools/cli.py`)."""

from __future__ import annotations

import sys

from pelton.tools.cli import main

if __name__ == "__main__":
    sys.exit(main())
