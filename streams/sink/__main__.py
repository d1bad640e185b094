"""Runs the sink: ``python -m streams.sink``."""

from common.logs import configure_logging
from common.settings import load_settings
from streams.runtime.worker import run
from streams.sink.app import build_sink
from streams.sink.settings import SinkSettings

if __name__ == "__main__":
    settings = load_settings(SinkSettings)
    configure_logging(settings)
    run(build_sink(settings))
