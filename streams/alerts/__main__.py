"""Runs one worker of the alerts stage: ``python -m streams.alerts``."""

from common.logs import configure_logging
from common.settings import load_settings
from streams.alerts.app import build_alerts
from streams.alerts.settings import AlertSettings
from streams.runtime.worker import run

if __name__ == "__main__":
    settings = load_settings(AlertSettings)
    configure_logging(settings)
    run(build_alerts(settings))
