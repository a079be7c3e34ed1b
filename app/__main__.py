"""`python -m app` is the `toolfold` command."""

from app.cli import main

main()
