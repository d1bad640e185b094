"""Settings of the MQTT stage."""

from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import BeforeValidator, Field
from pydantic_settings import NoDecode

from common.settings import CameraOfflineSettings, Fragment, MqttLoginSettings
from streams.runtime.settings import StreamSettings

_TOPIC_PREFIX = r"^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*$"
_DISCOVERY_PREFIX = r"^([A-Za-z0-9_.{}-]+(/[A-Za-z0-9_.{}-]+)*)?$"


def _owners(value: object) -> object:
    if not isinstance(value, str):
        return value
    return tuple(UUID(part.strip()) for part in value.split(",") if part.strip())


OwnerList = Annotated[tuple[UUID, ...], NoDecode, BeforeValidator(_owners)]
"""Comma-separated account ids."""


class MqttProtocol(StrEnum):
    """The MQTT version."""

    V5 = "5"
    V311 = "3.1.1"


class MqttBrokerSettings(MqttLoginSettings):
    """Settings of the connection to the broker."""

    mqtt_host: str = Field(
        min_length=1,
        description="Host name of the MQTT broker. The local stack starts the MQTT stage only "
        "if this is set.",
    )
    mqtt_ca_file: str = Field(
        "",
        description="PEM file with CA certificates for the MQTT broker; empty: the system's.",
    )
    mqtt_client_certificate_file: str = Field(
        "", description="PEM file with the client certificate for the MQTT broker and its key."
    )
    mqtt_protocol: MqttProtocol = Field(
        MqttProtocol.V5,
        description="MQTT version: 5 or 3.1.1. With 3.1.1, rejected messages are lost because "
        "the broker cannot report them.",
    )


class MqttPicture(StrEnum):
    """The kind of image whose URL is published for each pass."""

    OFF = "off"
    CROP = "crop"
    PHOTO = "photo"


class MqttTopicSettings(Fragment):
    """Settings of the topics and the published messages."""

    mqtt_topic_prefix: str = Field(
        "platestream",
        pattern=_TOPIC_PREFIX,
        description="Prefix of all MQTT topics. Must be unique per installation on a broker.",
    )
    mqtt_discovery_prefix: str = Field(
        "homeassistant",
        pattern=_DISCOVERY_PREFIX,
        description="Topic prefix of Home Assistant discovery. `{owner}` is replaced by the "
        "account ID. Empty: disabled.",
    )
    mqtt_owners: OwnerList = Field(
        (),
        description="Comma-separated IDs of the accounts whose events are published; empty: all.",
    )
    mqtt_picture: MqttPicture = Field(
        MqttPicture.OFF,
        description="Image of each camera's latest pass whose presigned URL is published: `off`, "
        "`crop` (the plate) or `photo` (the frame). Images of vehicles and people are personal "
        "data, and a broker may have many subscribers.",
    )


class MqttStageSettings(
    StreamSettings, CameraOfflineSettings, MqttBrokerSettings, MqttTopicSettings
):
    """Settings of one worker of the MQTT stage."""
