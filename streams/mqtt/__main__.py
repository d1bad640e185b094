"""Runs one worker of the MQTT stage: ``python -m streams.mqtt``."""

from common.logs import configure_logging
from common.settings import S3Settings, load_settings
from streams.mqtt.app import build_mqtt_app
from streams.mqtt.settings import MqttPicture, MqttStageSettings
from streams.runtime.worker import run

if __name__ == "__main__":
    settings = load_settings(MqttStageSettings)
    configure_logging(settings)
    # A stage that publishes no images needs no S3 credentials.
    has_images = settings.mqtt_picture is not MqttPicture.OFF
    images = load_settings(S3Settings) if has_images else None
    run(build_mqtt_app(settings, images))
