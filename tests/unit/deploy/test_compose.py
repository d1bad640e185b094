"""deploy/compose held against what the processes are and which settings they use."""

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.fernet import Fernet
from dotenv import dotenv_values

from common.settings import S3Settings
from deploy.local.plan import MIGRATIONS
from deploy.local.servers.base import CLONE
from tests.unit.deploy.programs import DEPLOY, PROGRAMS, known_settings, required, used, variables

FOLDER = DEPLOY / "compose"
TEXT = (FOLDER / "compose.yaml").read_text()
SERVICES: Mapping[str, Mapping[str, Any]] = msgspec.yaml.decode(TEXT)["services"]
OURS = {name for name, service in SERVICES.items() if "platestream:" in service["image"]}
JOBS = {
    "topics": MIGRATIONS[0],
    "database": MIGRATIONS[1],
    "search": MIGRATIONS[2],
}


def _given(service: str) -> set[str]:
    names: Mapping[str, object] = SERVICES[service].get("environment", {})
    return {name for name in names if name.startswith("PLATESTREAM_")}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_process_is_started_with_its_own_settings_only(name: str) -> None:
    program = PROGRAMS[name]

    assert SERVICES[name]["command"] == ["python", *program.command[-2:]]
    assert required(program.settings) <= _given(name) <= used(program)


@pytest.mark.parametrize("name", JOBS)
def test_a_job_is_a_migration_with_its_own_settings_only(name: str) -> None:
    migration = JOBS[name]

    assert SERVICES[name]["command"] == ["python", *migration.command[1:]]
    assert required(migration.settings) <= _given(name) <= variables(migration.settings)


def test_the_bucket_is_made_with_the_settings_of_s3() -> None:
    assert required((S3Settings,)) <= _given("bucket") <= variables((S3Settings,))


def test_processes_wait_for_all_jobs() -> None:
    for name in PROGRAMS:
        waits = SERVICES[name]["depends_on"]
        assert waits.keys() == {*JOBS, "bucket"}
        assert all(
            each == {"condition": "service_completed_successfully"} for each in waits.values()
        )


def test_nobody_has_rights_or_memory_without_bounds() -> None:
    assert {*PROGRAMS, *JOBS, "bucket", "account", "s3-folder"} == OURS
    for name, service in SERVICES.items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert "mem_limit" in service, name
        assert service.get("read_only", False) or name not in OURS, name


def test_images_are_of_one_release() -> None:
    for name in SERVICES.keys() - OURS:
        assert re.search(r":v?\d+\.\d+(\.\d+)*(-alpine)?}?$", SERVICES[name]["image"]), name


def test_ours_is_the_image_that_is_made_in_the_clone() -> None:
    image = "platestream:latest"

    assert {SERVICES[name]["image"] for name in OURS} == {f"${{IMAGE:-{image}}}"}
    assert f"\nIMAGE={image}\n" in (FOLDER / ".env.example").read_text()
    assert f"\nIMAGE ?= {image}\n" in (CLONE / "Makefile").read_text()


def test_servers_are_published_to_nobody() -> None:
    published = {name for name, service in SERVICES.items() if "ports" in service}

    assert published == {"api", "s3", "mosquitto", "grafana"}


def test_the_example_has_all_that_is_read() -> None:
    example = (FOLDER / ".env.example").read_text()
    named = set(re.findall(r"^#?([A-Z][A-Z0-9_]*)=", example, re.M))
    interpolated = set(re.findall(r"(?<!\$)\$\{([A-Z0-9_]+)", TEXT))
    passed_on = {
        name
        for service in SERVICES.values()
        for name, value in dict(service.get("environment", {})).items()
        if value is None
    }
    ours = {name for name in named if name.startswith("PLATESTREAM_")}

    without_a_line = {"GRAFANA_PORT", "MQTT_PORT", "PLATESTREAM_MQTT_USER"}
    assert interpolated - named == without_a_line
    assert passed_on - named == {"PLATESTREAM_MQTT_PORT", "PLATESTREAM_MQTT_TLS"}
    assert named - interpolated - passed_on == {"COMPOSE_PROFILES"}
    assert ours <= known_settings()


def test_prometheus_asks_every_process() -> None:
    text = (FOLDER / "prometheus.yml").read_text()
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    ports = re.findall(r"PLATESTREAM_([A-Z]+)_METRICS_PORT=(\d+)", dockerfile)

    targets = {f"{name.lower()}:{port}" for name, port in ports}
    assert set(re.findall(r'targets: \["([^"]+)"\]', text)) == targets


def test_secrets_are_made_once(tmp_path: Path) -> None:
    folder = tmp_path / "compose"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns(".env", "camera-files"))
    subprocess.run(folder / "prepare.sh", check=True, capture_output=True)
    first = (folder / ".env").read_text()
    again = subprocess.run(folder / "prepare.sh", check=True, capture_output=True)

    made = dotenv_values(folder / ".env")
    assert (folder / ".env").read_text() == first
    assert again.stdout == b""
    assert (folder / ".env").stat().st_mode & 0o077 == 0
    Fernet(made["PLATESTREAM_SECRET_KEY"] or "")
    needed = set(re.findall(r"\$\{([A-Z0-9_]+):\?", TEXT))
    assert all(re.fullmatch(r"[\w=-]{43,44}", made[name] or "") for name in needed)
    assert len({made[name] for name in needed}) == len(needed)
