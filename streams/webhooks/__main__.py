"""Runs one worker of the webhooks stage: ``python -m streams.webhooks``."""

from common.logs import configure_logging
from common.settings import load_settings
from streams.runtime.worker import run
from streams.webhooks.app import build_webhooks_app
from streams.webhooks.settings import WebhooksSettings

if __name__ == "__main__":
    settings = load_settings(WebhooksSettings)
    configure_logging(settings)
    run(build_webhooks_app(settings))
