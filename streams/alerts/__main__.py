"""Runs one worker of the alerts stage: ``python -m streams.alerts``."""

from contracts.logs import configure_logging
from contracts.settings import load_settings
from streams.alerts.app import build_alerts
from streams.alerts.settings import AlertSettings
from streams.common.worker import run

if __name__ == "__main__":
    settings = load_settings(AlertSettings)
    configure_logging(settings)
    run(build_alerts(settings), metrics_port=settings.alerts_metrics_port)
