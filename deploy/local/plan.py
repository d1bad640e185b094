"""Plans the local stack: its servers, its processes and their environment."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from analytics_sql.settings import AnalyticsSettings
from api.outbox.settings import RelaySettings
from api.settings import ApiSettings
from common.settings import (
    DatabaseSettings,
    Fragment,
    KafkaSettings,
    ProcessSettings,
    S3Settings,
)
from deploy.clickhouse.settings import ANALYST
from deploy.local.files import Layout
from deploy.local.secrets import LocalSecrets, load_or_create_secrets
from deploy.local.servers.base import PortUse, Program, Server, python_module
from deploy.local.servers.clickhouse import ClickHouseServer
from deploy.local.servers.kafka import KafkaServer
from deploy.local.servers.kafka_login import LISTENER, MECHANISM, KafkaLogin
from deploy.local.servers.postgres import PostgresServer
from deploy.local.servers.s3 import S3Server
from deploy.local.settings import LocalStackSettings
from ingest.settings import IngestSettings
from streams.alerts.settings import AlertSettings
from streams.mqtt.settings import MqttPicture, MqttStageSettings
from streams.recognition.settings import RecognitionSettings
from streams.sink.settings import SinkSettings
from streams.webhooks.settings import WebhooksSettings

SERVERS_GROUP: Final = "servers"
APPLICATION_GROUP: Final = "application"

API: Final = "api"


def _process(
    name: str, module: str, settings: type[Fragment], *, stop_seconds: int = 20
) -> Program:
    return Program(
        name=name,
        command=python_module(module),
        settings=(settings,),
        is_own=True,
        stop_seconds=stop_seconds,
    )


# The service's own processes, in the order in which `make status` lists processes. The API starts
# first, and then all other processes together. Each process waits for its dependencies.
APPLICATION: Final[tuple[Program, ...]] = (
    _process("ingest", "ingest", IngestSettings),
    _process("recognition", "streams.recognition", RecognitionSettings, stop_seconds=30),
    _process("webhooks", "streams.webhooks", WebhooksSettings, stop_seconds=30),
    _process("alerts", "streams.alerts", AlertSettings, stop_seconds=30),
    _process("sink", "streams.sink", SinkSettings, stop_seconds=30),
    _process("relay", "api.outbox", RelaySettings),
    _process(API, "api", ApiSettings),
)
# Started only if a broker is configured. The S3 settings are needed only to publish image URLs.
MQTT_WITHOUT_IMAGES: Final = _process("mqtt", "streams.mqtt", MqttStageSettings, stop_seconds=30)
MQTT: Final = replace(MQTT_WITHOUT_IMAGES, settings=(MqttStageSettings, S3Settings))
MQTT_SETTING: Final = "PLATESTREAM_MQTT_HOST"
_MQTT_PICTURE_SETTING: Final = "PLATESTREAM_MQTT_PICTURE"
_IMAGE_RETENTION_DAYS: Final = 30
METRICS_SETTING: Final = "PLATESTREAM_METRICS_PORT"
METRICS_OFFSETS: Final = {
    name: number
    for number, name in enumerate(
        (API, "ingest", "recognition", "alerts", "webhooks", "sink", "mqtt", "relay")
    )
}
"""For each process, the offset of its metrics port from the port in the setting."""
CAMERA_FILES_SETTING: Final = "PLATESTREAM_CAMERA_FILES_FOLDER"


@dataclass(frozen=True)
class Migration:
    """A command that upgrades a server's schema or topics. Safe to repeat."""

    name: str
    server: str
    command: tuple[str, ...]
    settings: tuple[type[Fragment], ...]
    """The settings classes that the command loads."""


MIGRATIONS: Final[tuple[Migration, ...]] = (
    Migration(
        "topics",
        "kafka",
        (sys.executable, "-m", "common.kafka"),
        (KafkaSettings, ProcessSettings),
    ),
    Migration(
        "database schema",
        "postgres",
        (sys.executable, "-m", "api.db", "migrate"),
        (DatabaseSettings, ProcessSettings),
    ),
    Migration(
        "search schema",
        "clickhouse",
        (sys.executable, "-m", "analytics_sql", "migrate"),
        (AnalyticsSettings,),
    ),
)


@dataclass(frozen=True)
class Analyst:
    """Credentials of the embedded ClickHouse's read-only user."""

    clickhouse_url: str
    user: str
    password: str = field(repr=False)


@dataclass(frozen=True)
class StackPlan:
    """One local stack, ready to be started.

    ``environment`` contains the settings of all processes, of which each gets only a part.
    """

    layout: Layout
    api_port: int
    metrics_port: int
    servers: tuple[Server, ...]
    environment: Mapping[str, str]
    secrets: LocalSecrets
    application: tuple[Program, ...] = APPLICATION
    migrations: tuple[Migration, ...] = MIGRATIONS
    analyst: Analyst | None = None
    """None if ClickHouse is not embedded, or if the read-only user does not exist."""

    @property
    def base_url(self) -> str:
        """URL of the API."""
        return f"http://127.0.0.1:{self.api_port}"

    @property
    def ready_urls(self) -> dict[str, str]:
        """For each process with a metrics port, the URL that returns 200 once it is ready."""
        base = self.metrics_port
        ports = {name: base + number for name, number in METRICS_OFFSETS.items() if base}
        return {name: f"http://127.0.0.1:{port}/readyz" for name, port in ports.items()}

    def ports(self) -> tuple[PortUse, ...]:
        """Return all ports on which the stack's processes listen."""
        api = (
            PortUse(self.api_port, "PLATESTREAM_API_PORT"),
            *(
                PortUse(self.metrics_port + METRICS_OFFSETS[program.name], METRICS_SETTING)
                for program in self.application
                if self.metrics_port and program.name in METRICS_OFFSETS
            ),
        )
        servers = (use for server in self.servers for use in server.ports())
        return tuple(use for use in (*servers, *api) if use.port)

    def groups(self) -> dict[str, tuple[Program, ...]]:
        """Return the processes of each supervisor group."""
        return {
            SERVERS_GROUP: tuple(server.program() for server in self.servers),
            APPLICATION_GROUP: self.application,
        }

    def process_environment(self) -> dict[str, str]:
        """Return the combined environment of all processes, of which each process gets a part.
        No two processes need different values of the same variable.
        """
        merged = dict(self.environment)
        for programs in self.groups().values():
            for program in programs:
                merged.update(program.environment)
        return merged


def make_plan(settings: LocalStackSettings, environment: Mapping[str, str]) -> StackPlan:
    """Return the plan for these settings.

    ``environment`` is the caller's environment. Its settings override the stack's defaults.
    """
    layout = Layout(settings.local_dir.resolve())
    layout.logs.mkdir(parents=True, exist_ok=True)
    secrets = load_or_create_secrets(layout)
    kafka, s3, postgres, clickhouse = _servers(settings, layout, secrets, environment)
    addresses = {
        # The generated login does not exist on an external Kafka.
        **(_kafka_settings(kafka) if settings.kafka_bootstrap_servers is None else {}),
        "PLATESTREAM_S3_ENDPOINT": s3.endpoint,
        "PLATESTREAM_S3_ACCESS_KEY": s3.access_key,
        "PLATESTREAM_S3_SECRET_KEY": s3.secret_key,
        "PLATESTREAM_DATABASE_URL": postgres.url(),
        "PLATESTREAM_CLICKHOUSE_URL": clickhouse.url,
        "PLATESTREAM_CLICKHOUSE_USER": clickhouse.user,
        "PLATESTREAM_CLICKHOUSE_PASSWORD": clickhouse.password,
    }
    embedded: tuple[tuple[Server, bool], ...] = (
        (kafka, settings.kafka_bootstrap_servers is None),
        (s3, settings.s3_endpoint is None),
        (postgres, settings.database_url is None),
        (clickhouse, settings.clickhouse_url is None),
    )
    return StackPlan(
        layout=layout,
        api_port=settings.api_port,
        metrics_port=settings.metrics_port,
        servers=tuple(server for server, wanted in embedded if wanted),
        environment={**_defaults(settings, layout, secrets), **addresses, **environment},
        secrets=secrets,
        application=tuple(
            _with_metrics(program, settings.metrics_port)
            for program in (*APPLICATION, *_mqtt(environment))
        ),
        analyst=Analyst(clickhouse.url, ANALYST, clickhouse.analyst_password)
        if clickhouse.analyst_password and settings.clickhouse_url is None
        else None,
    )


def _with_metrics(program: Program, port: int) -> Program:
    """Return the program with its own metrics port. The API uses ``port``."""
    offset = METRICS_OFFSETS[program.name]
    if not (port and offset):
        return program
    given = f"{METRICS_SETTING}={port + offset}"
    return replace(program, command=("/usr/bin/env", given, *program.command))


def _mqtt(environment: Mapping[str, str]) -> tuple[Program, ...]:
    if not environment.get(MQTT_SETTING):
        return ()
    has_images = environment.get(_MQTT_PICTURE_SETTING, MqttPicture.OFF) != MqttPicture.OFF
    return (MQTT if has_images else MQTT_WITHOUT_IMAGES,)


def _defaults(
    settings: LocalStackSettings, layout: Layout, secrets: LocalSecrets
) -> dict[str, str]:
    # Check every server's folder, because each can be on a separate disk.
    folders = (layout.root, *map(layout.data, ("kafka", "clickhouse", "postgres", "s3")))
    return {
        "PLATESTREAM_LOCAL_DIR": str(layout.root),
        "PLATESTREAM_STREAM_DATA_DIRECTORY": str(layout.root / "streams"),
        "PLATESTREAM_SECRET_KEY": secrets.secret_key,
        "PLATESTREAM_API_PORT": str(settings.api_port),
        METRICS_SETTING: str(settings.metrics_port),
        # Cameras may be local: the demo camera is a file, and a camera simulator can run here.
        "PLATESTREAM_CAMERA_ALLOW_LOOPBACK": "true",
        CAMERA_FILES_SETTING: str(layout.camera_files),
        "PLATESTREAM_DISK_FOLDERS": ",".join(map(str, folders)),
        "PLATESTREAM_IMAGE_RETENTION_DAYS": str(_IMAGE_RETENTION_DAYS),
        # By default, glibc uses up to eight heaps per core, and every heap stays large.
        "MALLOC_ARENA_MAX": "2",
        "PATH": os.defpath,
    }


def _servers(
    settings: LocalStackSettings,
    layout: Layout,
    secrets: LocalSecrets,
    environment: Mapping[str, str],
) -> tuple[KafkaServer, S3Server, PostgresServer, ClickHouseServer]:
    def given(name: str, default: str) -> str:
        return environment.get(f"PLATESTREAM_{name}", default)

    kafka = KafkaServer(
        directory=layout.data("kafka"),
        port=settings.kafka_port,
        controller_port=settings.kafka_port + 1,
        max_message_bytes=settings.kafka_max_message_bytes,
        login=KafkaLogin(
            given("KAFKA_SASL_USERNAME", "platestream"),
            given("KAFKA_SASL_PASSWORD", secrets.kafka_password),
        ),
    )
    s3 = S3Server(
        directory=layout.data("s3"),
        port=settings.s3_port,
        access_key=given("S3_ACCESS_KEY", secrets.s3_access_key),
        secret_key=given("S3_SECRET_KEY", secrets.s3_secret_key),
        bucket=settings.s3_bucket,
    )
    postgres = PostgresServer(
        directory=layout.data("postgres"),
        port=settings.postgres_port,
        password=secrets.postgres_password,
    )
    clickhouse = ClickHouseServer(
        directory=layout.data("clickhouse"),
        port=settings.clickhouse_port,
        user=given("CLICKHOUSE_USER", "platestream"),
        password=given("CLICKHOUSE_PASSWORD", secrets.clickhouse_password),
        analyst_password=given("CLICKHOUSE_SERVER_READER_PASSWORD", secrets.analyst_password),
    )
    return kafka, s3, postgres, clickhouse


def _kafka_settings(kafka: KafkaServer) -> dict[str, str]:
    login = kafka.login
    if login is None:
        return {}
    return {
        "PLATESTREAM_KAFKA_BOOTSTRAP_SERVERS": kafka.bootstrap_servers,
        "PLATESTREAM_KAFKA_SECURITY_PROTOCOL": LISTENER,
        "PLATESTREAM_KAFKA_SASL_MECHANISM": MECHANISM,
        "PLATESTREAM_KAFKA_SASL_USERNAME": login.user,
        "PLATESTREAM_KAFKA_SASL_PASSWORD": login.password,
    }
