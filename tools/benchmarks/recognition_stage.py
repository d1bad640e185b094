"""A recognition stage with a Kafka and an S3 of its own, for benchmarks."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from minio import Minio

from common.kafka.clients import create_topics
from common.settings import KafkaSettings
from deploy.local.servers.kafka import KafkaServer
from deploy.local.servers.s3 import S3Server
from tests.services.kafka import kafka_process
from tests.services.s3 import s3_process


@dataclass(frozen=True)
class Servers:
    """Kafka and S3 for one benchmark, as environment of the stage."""

    kafka: KafkaSettings
    environment: dict[str, str]


@contextmanager
def running_servers(folder: Path) -> Iterator[Servers]:
    """Start Kafka and S3."""
    with kafka_process(folder) as kafka, s3_process(folder) as s3:
        assert isinstance(kafka.server, KafkaServer)
        assert isinstance(s3.server, S3Server)
        endpoint = s3.server.endpoint
        keys = (s3.server.access_key, s3.server.secret_key)
        Minio(endpoint.removeprefix("http://"), *keys, secure=False).make_bucket("bench")
        settings = KafkaSettings.model_validate(
            {"kafka_bootstrap_servers": kafka.server.bootstrap_servers, "kafka_partitions": 4}
        )
        create_topics(settings)
        yield Servers(
            settings,
            {
                "KAFKA_BOOTSTRAP_SERVERS": settings.kafka_bootstrap_servers,
                "KAFKA_PARTITIONS": "4",
                "S3_ENDPOINT": endpoint,
                "S3_BUCKET": "bench",
                "S3_ACCESS_KEY": keys[0],
                "S3_SECRET_KEY": keys[1],
                "READING_DEADLINE_SECONDS": "3600",
                "LOG_LEVEL": "warning",
            },
        )


@contextmanager
def running_stage(servers: Servers, folder: Path, **settings: str) -> Iterator[int]:
    """Run one worker of the stage and yield its process id; it is killed in the end."""
    extra = {
        **servers.environment,
        "STREAM_DATA_DIRECTORY": str(folder / "stream"),
        **settings,
    }
    environment = {f"PLATESTREAM_{key}": value for key, value in extra.items()}
    stage = subprocess.Popen(
        [sys.executable, "-m", "streams.recognition"], env={**os.environ, **environment}
    )
    try:
        yield stage.pid
    finally:
        stage.kill()
        stage.wait()
