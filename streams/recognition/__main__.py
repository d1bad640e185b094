"""Runs one worker of the recognition stage."""

from contracts.logs import configure_logging
from contracts.settings import load_settings
from streams.common.worker import run
from streams.recognition.app import build_recognition_app
from streams.recognition.settings import RecognitionSettings

if __name__ == "__main__":
    settings = load_settings(RecognitionSettings)
    configure_logging(settings)
    run(build_recognition_app(settings), metrics_port=settings.recognition_metrics_port)
