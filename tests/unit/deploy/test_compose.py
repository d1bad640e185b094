"""deploy/compose compared with the processes and their settings."""

import os
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

from common.records.object_keys import RECOGNITION_FOLDER, SNAPSHOT_FOLDER
from common.settings import S3Settings
from deploy.local.plan import METRICS_OFFSETS, MIGRATIONS
from deploy.local.servers.base import CLONE
from tests.image.composed import interpolated, services
from tests.unit.deploy.programs import DEPLOY, PROGRAMS, known_settings, required, used, variables
from tools.release.parts import project_version

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


def test_rights_and_memory_are_limited() -> None:
    assert {*PROGRAMS, *JOBS, "bucket", "account", "admin", "s3-folder"} == OURS
    for name, service in SERVICES.items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert "mem_limit" in service, name
        assert service.get("read_only", False) or name not in OURS, name


def test_images_are_of_one_release() -> None:
    for name in SERVICES.keys() - OURS:
        assert re.search(r":v?\d+\.\d+(\.\d+)*(-alpine)?}?$", SERVICES[name]["image"]), name


def test_ours_is_the_image_that_is_made_in_the_clone() -> None:
    version = project_version(CLONE)
    image = f"platestream:{version}"

    assert {SERVICES[name]["image"] for name in OURS} == {f"${{IMAGE:-{image}}}"}
    assert f"\nIMAGE={image}\n" in (FOLDER / ".env.example").read_text()
    made = subprocess.check_output(("make", "--dry-run", "image"), cwd=CLONE, text=True)
    assert f" --tag {image} " in made


def test_every_image_can_be_pinned_by_its_digest(tmp_path: Path) -> None:
    folder = tmp_path / "compose"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns(".env", "camera-files"))
    docker = tmp_path / "docker"
    docker.write_text(
        '#!/bin/sh\ncase $1 in image) echo "registry.example/${5%%:*}@sha256:0123";; esac\n'
    )
    docker.chmod(0o755)
    (folder / ".env").write_text("KAFKA_IMAGE=mirror.example/kafka:1\n")
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    for _ in range(2):
        subprocess.run(folder / "pin-images.sh", check=True, capture_output=True, env=environment)

    written = dotenv_values(folder / ".env")
    images = {SERVICES[name]["image"] for name in SERVICES.keys() - OURS}
    named = dict(found for image in images for found in re.findall(r"^\$\{(\w+):-(.+)\}$", image))
    assert len(named) == len(images)
    pinned = {name: f"{image}@sha256:0123" for name, image in named.items()}
    assert written == {**pinned, "KAFKA_IMAGE": "mirror.example/kafka:1"}


def _environment(service: str) -> dict[str, str]:
    return dict(services(_SECRETS)[service]["environment"])


_SECRETS = {name: f"secret-{name}" for name in re.findall(r"\$\{([A-Z0-9_]+):\?", TEXT)}
_ADMINISTRATORS = {"admin", "bucket", "search"}
"""Jobs that create schemas, users and the bucket."""


@pytest.mark.parametrize("name", sorted(OURS - {"s3-folder"}))
def test_a_process_has_no_rights_of_an_administrator(name: str) -> None:
    given = _environment(name)
    secrets = {text for text in _SECRETS.values() if any(text in value for value in given.values())}

    assert "secret-POSTGRES_PASSWORD" not in secrets
    roots = {"secret-S3_ROOT_KEY", "secret-CLICKHOUSE_PASSWORD"}
    assert not secrets & roots or name in _ADMINISTRATORS
    url = given.get("PLATESTREAM_DATABASE_URL", "postgresql://platestream:")
    assert url.startswith("postgresql://platestream:")


def test_each_process_has_its_own_user_in_s3_and_clickhouse() -> None:
    users = {
        name: (given.get("PLATESTREAM_S3_ACCESS_KEY"), given.get("PLATESTREAM_CLICKHOUSE_USER"))
        for name in PROGRAMS
        for given in (_environment(name),)
    }

    assert users == {
        "api": ("api", "api"),
        "ingest": ("ingest", None),
        "recognition": ("recognition", None),
        "webhooks": ("reader", None),
        "mqtt": ("reader", None),
        "sink": (None, "sink"),
        "alerts": (None, None),
        "relay": (None, None),
    }


def test_everybody_logs_in_at_kafka() -> None:
    properties = dict(
        line.split("=", 1)
        for line in (FOLDER / "servers" / "kafka.properties").read_text().splitlines()
        if not line.startswith("#")
    )
    listeners = {each.partition(":")[0] for each in properties["listeners"].split(",")}
    protocols = dict(
        each.split(":") for each in properties["listener.security.protocol.map"].split(",")
    )

    assert protocols.keys() == listeners
    assert set(protocols.values()) == {"SASL_PLAINTEXT"}
    mechanism = properties["listener.name.sasl_plaintext.sasl.enabled.mechanisms"]
    for name in OURS:
        given = SERVICES[name].get("environment", {})
        if "PLATESTREAM_KAFKA_BOOTSTRAP_SERVERS" in given:
            assert given["PLATESTREAM_KAFKA_SECURITY_PROTOCOL"] == "SASL_PLAINTEXT", name
            assert given["PLATESTREAM_KAFKA_SASL_MECHANISM"] == mechanism, name


def test_s3_users_may_do_what_their_processes_do() -> None:
    policy = msgspec.json.decode((FOLDER / "servers" / "s3-policy.json").read_bytes())
    script = (FOLDER / "servers" / "s3.sh").read_text()
    rights: dict[str, set[str]] = {}
    for statement in policy["Statement"]:
        assert statement["Effect"] == "Allow"
        for user in statement["Principal"]["AWS"]:
            for action in statement["Action"]:
                for resource in statement["Resource"]:
                    place = resource.removeprefix("arn:aws:s3:::platestream").strip("/") or "bucket"
                    rights.setdefault(user, set()).add(f"{action.removeprefix('s3:')} {place}")

    images, snapshots = f"{RECOGNITION_FOLDER}*", f"{SNAPSHOT_FOLDER}*"
    assert rights == {
        "api": {"ListBucket bucket", "GetObject *", "DeleteObject *", f"PutObject {images}"},
        "recognition": {"ListBucket bucket", f"GetObject {images}", f"PutObject {images}"},
        "ingest": {f"PutObject {snapshots}", f"DeleteObject {snapshots}"},
        "reader": {"ListBucket bucket", f"GetObject {images}"},
    }
    assert set(re.findall(r"^ +user (\w+) ", script, re.M)) == rights.keys()


def test_clickhouse_users_have_their_rights_on_the_database_alone() -> None:
    text = (FOLDER / "servers" / "clickhouse-users.xml").read_text()
    users = re.findall(r"<(\w+)>\s*<password from_env=\"(\w+)\"/>(.*?)</\1>", text, re.S)

    assert {name for name, _, _ in users} == {"api", "sink"}
    for name, variable, grants in users:
        assert variable in SERVICES["clickhouse"]["environment"], name
        for query in re.findall(r"<query>(.*?)</query>", grants):
            found = re.fullmatch(r"GRANT ([A-Z, ]+) ON platestream\.(\*|\w+)", query)
            assert found, query
            assert set(found[1].split(", ")) <= {"SELECT", "INSERT", "ALTER UPDATE", "ALTER DELETE"}


def test_no_camera_may_be_in_the_networks_of_the_servers() -> None:
    networks = msgspec.yaml.decode(interpolated(TEXT, {}, strict=False))["networks"]
    subnets = [each["ipam"]["config"][0]["subnet"] for each in networks.values()]

    for name in ("api", "ingest"):
        denied = _environment(name)["PLATESTREAM_CAMERA_DENIED_NETWORKS"]
        assert sorted(denied.split(",")) == sorted(subnets)


def test_mounted_files_are_there_and_read_only() -> None:
    for service in SERVICES.values():
        for volume in service.get("volumes", ()):
            if volume.startswith("./"):
                file, *_, mode = volume.split(":")
                assert (FOLDER / file).is_file(), volume
                assert mode == "ro", volume


def test_backups_of_clickhouse_have_a_disk_on_its_volume() -> None:
    text = (FOLDER / "servers" / "clickhouse-backups.xml").read_text()
    mounted = dict(volume.split(":")[:2] for volume in SERVICES["clickhouse"]["volumes"])

    assert mounted["./servers/clickhouse-backups.xml"].startswith("/etc/clickhouse-server/config.d")
    assert "<allowed_disk>backups</allowed_disk>" in text
    (path,) = re.findall(r"<backups><path>(.+)/backups/</path></backups>", text)
    assert mounted["clickhouse"] == path


def test_the_commands_of_a_backup_fit_the_services() -> None:
    text = (CLONE / "docs" / "backup.md").read_text()
    section = text.partition("## With Docker Compose")[2].partition("\n## ")[0]
    commands = re.findall(r"docker compose (?:exec -T|run --rm(?: -T)?) (\S+)", section)

    (jobs,) = re.findall(r"for job in (.+?); do", section)

    assert {*commands, *jobs.split()} - {"$job;"} <= SERVICES.keys()
    # The file of erasures is in the working directory, which is writable and in memory.
    folder = re.findall(r"^WORKDIR (.+)$", (DEPLOY / "Dockerfile").read_text(), re.M)
    assert any(mount.split(":")[0] in folder for mount in SERVICES["admin"]["tmpfs"])
    assert "platestream_kafka" in section
    assert msgspec.yaml.decode(TEXT)["name"] == "platestream"
    for script in re.findall(r"```bash\n(.*?)```", section, re.S):
        subprocess.run(["sh", "-n"], input=script, text=True, check=True)


def test_only_services_with_clients_publish_ports() -> None:
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

    images = {name for name in interpolated if name.endswith("_IMAGE")}
    without_a_line = {"GRAFANA_PORT", "MQTT_PORT", "PLATESTREAM_MQTT_USER", *images}
    assert interpolated - named == without_a_line
    assert passed_on - named == {"PLATESTREAM_MQTT_PORT", "PLATESTREAM_MQTT_TLS"}
    assert named - interpolated - passed_on == {"COMPOSE_PROFILES"}
    assert ours <= known_settings()


def test_prometheus_asks_every_process() -> None:
    text = (FOLDER / "prometheus.yml").read_text()
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    (port,) = re.findall(r"PLATESTREAM_METRICS_PORT=(\d+)", dockerfile)

    targets = {f"{name}:{port}" for name in METRICS_OFFSETS}
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
