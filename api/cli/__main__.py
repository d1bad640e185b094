"""``python -m api.cli``: the command line tool."""

from api.cli.app import app

if __name__ == "__main__":
    app()
