"""Runs one worker of the recognition stage: ``python -m streams.recognition``."""

from common.logs import configure_logging
from common.settings import load_settings
from streams.recognition.app import build_recognition_app
from streams.recognition.settings import RecognitionSettings
from streams.runtime.worker import run

if __name__ == "__main__":
    settings = load_settings(RecognitionSettings)
    configure_logging(settings)
    run(build_recognition_app(settings))
