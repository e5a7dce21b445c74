"""`python -m maskwell` is the command line."""

from maskwell.cli.main import main

main()
