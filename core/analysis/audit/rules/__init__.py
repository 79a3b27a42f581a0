"""One rule per file. To add one, write a file with a `RULE` and list it in `core/analysis/audit/__init__.py`."""
