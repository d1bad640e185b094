"""Runs the command-line tool: ``python -m api.cli``."""

from api.cli.app import app

if __name__ == "__main__":
    app()
