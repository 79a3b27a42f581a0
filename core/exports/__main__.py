"""`python -m core.exports`."""

import sys

from core.exports.command import main

if __name__ == "__main__":
    sys.exit(main())
