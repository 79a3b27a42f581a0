"""`python -m core.imports`."""

import sys

from core.imports.command import main

sys.exit(main())
