"""Runs one worker of the MQTT stage: ``python -m streams.mqtt``."""

from common.logs import configure_logging
from common.settings import load_settings
from streams.mqtt.app import build_mqtt_app
from streams.mqtt.settings import MqttStageSettings
from streams.runtime.worker import run

if __name__ == "__main__":
    settings = load_settings(MqttStageSettings)
    configure_logging(settings)
    run(build_mqtt_app(settings), metrics_port=settings.mqtt_metrics_port)
