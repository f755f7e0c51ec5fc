"""`python -m fire_toolkit` is `fire-toolkit`."""

from fire_toolkit.cli import main

main(prog_name="fire-toolkit")
