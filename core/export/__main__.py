"""`python -m core.export`."""

import sys

from core.export.command import main

if __name__ == "__main__":
    sys.exit(main())
