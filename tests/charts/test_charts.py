"""Tests the Helm chart and compose.yaml with the tools that read them.

``PLATESTREAM_TEST_CHART_TOOLS`` is the folder of the tools; see ``make test-charts``.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from deploy.local.servers.base import CLONE

pytestmark = pytest.mark.charts

CHART = CLONE / "deploy" / "helm" / "platestream"
COMPOSE_FILE = CLONE / "deploy" / "compose" / "compose.yaml"
# The oldest Kubernetes version that the chart supports, and the newest version with schemas.
KUBERNETES = ("1.27.0", "1.37.0")
SERVERS = {
    "PLATESTREAM_KAFKA_BOOTSTRAP_SERVERS": "kafka.example:9092",
    "PLATESTREAM_CLICKHOUSE_URL": "http://clickhouse.example:8123",
    "PLATESTREAM_S3_ENDPOINT": "https://s3.example",
    "PLATESTREAM_CAMERA_DENIED_NETWORKS": "10.244.0.0/16,10.96.0.0/12",
}
LEAST: dict[str, object] = {"settings": SERVERS}
MOST: dict[str, object] = {
    "settings": {**SERVERS, "PLATESTREAM_RECOGNITION_WORKERS": 2},
    "image": {
        "repository": "registry.example/platestream",
        "digest": f"sha256:{'0123456789abcdef' * 4}",
        "pullSecrets": ["registry"],
    },
    "files": [
        {"name": "ca", "mountPath": "/etc/kafka", "volume": {"secret": {"secretName": "ca"}}}
    ],
    "migrations": {"makeBucket": True},
    "processes": {
        "mqtt": {"enabled": True, "tolerations": [{"key": "gate", "operator": "Exists"}]},
        "api": {"env": {"PLATESTREAM_LOG_LEVEL": "debug"}, "nodeSelector": {"disk": "fast"}},
    },
    "autoscaling": {"by": "cpu"},
    "ingress": {"enabled": True, "host": "plates.example", "tlsSecret": "plates"},
    "networkPolicy": {
        "apiFrom": [{"podSelector": {}}],
        "metricsFrom": [{"namespaceSelector": {}}],
        "servers": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/16"}}], "ports": [{"port": 9092}]}],
    },
}


def _run(tool: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = CLONE / os.environ["PLATESTREAM_TEST_CHART_TOOLS"] / tool
    command = (str(program), *arguments)
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def _helm(action: str, values: object, folder: Path, *more: str) -> str:
    file = folder / "values.json"
    file.write_text(json.dumps(values))
    words = (*action.split(), str(CHART), "--values", str(file), *more)
    done = _run("helm", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("values", [LEAST, MOST], ids=["least", "most"])
def test_helm_finds_no_fault(values: object, tmp_path: Path) -> None:
    _helm("lint --strict", values, tmp_path)


@pytest.mark.parametrize("kubernetes", KUBERNETES)
@pytest.mark.parametrize("values", [LEAST, MOST], ids=["least", "most"])
def test_kubernetes_knows_every_field(values: object, kubernetes: str, tmp_path: Path) -> None:
    rendered = tmp_path / "rendered.yaml"
    rendered.write_text(_helm("template plates", values, tmp_path, "--kube-version", kubernetes))
    minor = kubernetes.rsplit(".", 1)[0]

    judged = _run("python/bin/kubernetes-validate", "--strict", "-k", minor, str(rendered))

    said = judged.stdout + judged.stderr
    assert judged.returncode == 0, said
    assert said.count(" passed for resource ") == rendered.read_text().count("\nkind: ")


def test_numbers_are_written_as_the_settings_take_them(tmp_path: Path) -> None:
    numbers = {
        "PLATESTREAM_KAFKA_MAX_MESSAGE_BYTES": 67108864,
        "PLATESTREAM_INGEST_SAMPLE_FPS": 2.5,
    }
    values = {"settings": {**SERVERS, **numbers, "PLATESTREAM_MQTT_TLS": True}}

    rendered = _helm("template plates", values, tmp_path, "--kube-version", KUBERNETES[0])

    assert '{name: PLATESTREAM_KAFKA_MAX_MESSAGE_BYTES, value: "67108864"}' in rendered
    assert '{name: PLATESTREAM_INGEST_SAMPLE_FPS, value: "2.5"}' in rendered
    assert '{name: PLATESTREAM_MQTT_TLS, value: "true"}' in rendered


def test_metrics_and_readiness_are_on_no_service(tmp_path: Path) -> None:
    rendered = _helm("template plates", MOST, tmp_path, "--kube-version", KUBERNETES[0])
    (api,) = (
        each
        for each in rendered.split("\n---\n")
        if "kind: Deployment" in each and "command: [python, -m, api]" in each
    )

    assert "{name: metrics, containerPort: 9100}" in api
    assert "readinessProbe:\n            httpGet: {path: /readyz, port: metrics}" in api
    assert "livenessProbe:\n            httpGet: {path: /healthz, port: http}" in api
    assert "targetPort: metrics" not in rendered
    assert "image: registry.example/platestream@sha256:0123" in api


def test_ingest_and_api_know_where_no_camera_may_be(tmp_path: Path) -> None:
    rendered = _helm("template plates", LEAST, tmp_path, "--kube-version", KUBERNETES[0])

    line = '{name: PLATESTREAM_CAMERA_DENIED_NETWORKS, value: "10.244.0.0/16,10.96.0.0/12"}'
    for command in ("api", "ingest"):
        (found,) = (
            each
            for each in rendered.split("\n---\n")
            if f"command: [python, -m, {command}]" in each
        )
        assert line in found


def test_workers_may_follow_the_lag(tmp_path: Path) -> None:
    values = {**LEAST, "autoscaling": {"by": "lag", "triggerAuthentication": "kafka"}}

    rendered = _helm("template plates", values, tmp_path, "--kube-version", KUBERNETES[0])

    assert "kind: ScaledObject" in rendered
    assert 'consumerGroup: "platestream-recognition"' in rendered


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"settings": {**SERVERS, "PLATESTREAM_DATABASE_URL": "postgresql://…"}},
        {"settings": {**SERVERS, "PLATESTREAM_CLICKHOUSE_URL": "clickhouse.example"}},
        {"settings": {**SERVERS, "PLATESTREAM_CAMERA_DENIED_NETWORKS": ""}},
        {**LEAST, "image": {"repository": "platestream", "digest": "latest"}},
        {**LEAST, "processes": {"ingest": {"replicas": 0}}},
        {**LEAST, "replicas": 3},
    ],
)
def test_what_is_wrong_is_refused(values: object, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="values don't meet the specifications"):
        _helm("template plates", values, tmp_path, "--kube-version", KUBERNETES[0])


def test_compose_reads_its_file() -> None:
    read = _run("compose-go", "-no-interpolation", str(COMPOSE_FILE))

    assert read.returncode == 0, read.stderr
    assert "\n    api:\n" in read.stdout
