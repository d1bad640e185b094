"""compose.yaml without Docker: its commands and environments, from the image, on local servers.

Differences: the servers of the local stack have other addresses, Kafka requires a login, and all
processes share one network, so their health pages have other ports.
"""

import os
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from deploy.local.plan import Migration, StackPlan
from deploy.local.ports import free_ports
from deploy.local.servers.base import Program
from tests.image.built import CLIPS, CLIPS_OF_THE_CLONE, USER, BuiltImage
from tests.image.composed import services
from tests.services.stack import RunningStack
from tests.waiting import wait_until

pytestmark = [pytest.mark.image, pytest.mark.timeout(3600)]

MOST_SECONDS = 120.0
ACCOUNT = {"email": "gate@platestream.example", "password": "correct horse battery staple"}
_PAGES = ("api", "ingest", "recognition", "alerts", "webhooks", "sink", "relay")
_JOBS = {"topics": "topics", "database schema": "database", "search schema": "search"}
_UNUSED = ("POSTGRES_PASSWORD", "KAFKA_PASSWORD", "MQTT_PASSWORD", "GRAFANA_PASSWORD")
# Each server of the local stack has a single user, which replaces every user in compose.yaml.
_CLICKHOUSE = ("CLICKHOUSE_PASSWORD", "CLICKHOUSE_API_PASSWORD", "CLICKHOUSE_SINK_PASSWORD")
_S3 = ("S3_ROOT_KEY", "S3_API_KEY", "S3_INGEST_KEY", "S3_READER_KEY", "S3_RECOGNITION_KEY")
_KAFKA = ("SECURITY_PROTOCOL", "SASL_MECHANISM", "SASL_USERNAME", "SASL_PASSWORD")


class Composed:
    """The services of compose.yaml, as commands that run from the image with the local servers."""

    def __init__(self, image: BuiltImage) -> None:
        """Choose the ports of the health pages."""
        self._image = image
        self._services: dict[str, dict[str, Any]] = {}
        self._local: Mapping[str, str] = {}
        self._pages = dict(zip(_PAGES, free_ports(len(_PAGES)), strict=True))

    def plan(self, plan: StackPlan) -> StackPlan:
        """Return the plan of a local stack that runs the services of compose.yaml."""
        self._local = plan.environment
        address = plan.environment["PLATESTREAM_DATABASE_URL"]
        self._services = services(
            {
                **dict.fromkeys(_UNUSED, "unused"),
                "DATABASE_PASSWORD": address.split(":")[2].split("@")[0],
                **dict.fromkeys(_CLICKHOUSE, plan.environment["PLATESTREAM_CLICKHOUSE_PASSWORD"]),
                **dict.fromkeys(_S3, plan.environment["PLATESTREAM_S3_SECRET_KEY"]),
                "PLATESTREAM_SECRET_KEY": plan.environment["PLATESTREAM_SECRET_KEY"],
                "ACCOUNT_EMAIL": ACCOUNT["email"],
                "ACCOUNT_PASSWORD": ACCOUNT["password"],
                "PLATESTREAM_CAMERA_FILES_FOLDER": CLIPS,
            }
        )
        return replace(
            plan,
            application=tuple(map(self._program, plan.application)),
            migrations=tuple(map(self._migration, plan.migrations)),
        )

    def command(self, service: str, *instead: str) -> tuple[str, ...]:
        """Return the command that runs a service's command, or ``instead``, from the image."""
        command = instead or tuple(self._services[service]["command"])
        return self._image.command(
            CLIPS_OF_THE_CLONE, *command, environment=self._environment(service)
        )

    def _program(self, program: Program) -> Program:
        return replace(program, command=self.command(program.name))

    def _migration(self, migration: Migration) -> Migration:
        return replace(migration, command=self.command(_JOBS[migration.name]))

    def _environment(self, service: str) -> dict[str, str]:
        given: dict[str, str] = self._services[service]["environment"]
        local = {name: self._local[name] for name in given.keys() & self._local.keys()}
        # Addresses and users are those of the local servers, and the ports those of this machine.
        # Every other value comes from compose.yaml.
        moved = {n: v for n, v in local.items() if n.endswith(("_URL", "_SERVERS", "_ENDPOINT"))}
        users = ("PLATESTREAM_S3_ACCESS_KEY", "PLATESTREAM_CLICKHOUSE_USER")
        moved |= {name: self._local[name] for name in users}
        moved |= {n: self._local[n] for n in (f"PLATESTREAM_KAFKA_{end}" for end in _KAFKA)}
        if service in self._pages:
            moved["PLATESTREAM_METRICS_PORT"] = str(self._pages[service])
        moved |= {"PLATESTREAM_API_PORT": self._local["PLATESTREAM_API_PORT"]}
        moved |= dict.fromkeys(("PLATESTREAM_API_HOST", "PLATESTREAM_METRICS_HOST"), "127.0.0.1")
        return {**given, **moved}


def _run(command: tuple[str, ...]) -> None:
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr


def test_everything_of_compose_runs_from_the_image(
    image: BuiltImage, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    composed = Composed(image)
    healthy = image.configuration["Healthcheck"]
    assert isinstance(healthy, dict)
    began = time.monotonic()

    with RunningStack(tmp_path, elsewhere=composed.plan) as stack:
        # The command creates only the bucket, because S3Proxy has no policies.
        _run(composed.command("bucket", "platestream", "stack", "make-bucket"))
        _run(composed.command("account"))
        with stack.access.client() as client:
            client.cameras.create({"name": "Gate", "rtspUrl": f"file://{CLIPS}/road.mp4"})
            seen = wait_until("a plate", lambda: list(client.recognitions.search()), 600)
        seconds = time.monotonic() - began

        record_property("seconds_to_the_first_plate", round(seconds))
        assert seen[0]["photoUrl"]
        assert stack.workers("recognition"), stack.log("recognition")
        for name, pid in stack.processes().items():
            if name not in ("kafka", "s3", "postgres", "clickhouse"):
                assert Path(f"/proc/{pid}/root").resolve() == image.root, name
                assert os.stat(f"/proc/{pid}").st_uid == int(USER), name
                _run(composed.command(name, *healthy["Test"][1:]))
        _run(composed.command("account"))
        session = httpx.post(f"{stack.access.base_url}/api/session", json=ACCOUNT)
        assert session.status_code == 200, session.text

    assert seconds < MOST_SECONDS, f"{seconds:.0f} s to the first plate"
