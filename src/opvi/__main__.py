"""`python -m opvi` is the `opvi` command."""

from opvi.cli import main

main()
