"""``python -m api.config_log``: the former name of :mod:`api.outbox`, for what starts it so."""

from api.outbox.__main__ import app

if __name__ == "__main__":
    app()
