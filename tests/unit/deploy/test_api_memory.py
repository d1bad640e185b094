"""The API's memory limit covers the maximum that all its parts may use."""

import re
from pathlib import Path

import msgspec

from api.cameras.probe import CONCURRENT_PROBES
from api.limits.body_budget import BODY_MEBIBYTES
from deploy.local.servers.base import CLONE
from ingest.probe import MEMORY_BYTES
from recognition.settings import RecognizerPoolSettings

GIB = 1024**3
DEPLOY = CLONE / "deploy"
PROCESS_BYTES = GIB
RECOGNISERS = 3


def _in_bytes(text: str) -> int:
    found = re.fullmatch(r"(\d+)G(i)?", text, re.IGNORECASE)
    assert found, text
    return int(found[1]) * GIB


def test_each_limit_has_room_for_probes_bodies_and_recognisers() -> None:
    bodies = BODY_MEBIBYTES << 20
    recogniser = RecognizerPoolSettings.model_validate({}).worker_memory_bytes
    needed = PROCESS_BYTES + bodies + RECOGNISERS * recogniser + CONCURRENT_PROBES * MEMORY_BYTES
    compose = msgspec.yaml.decode((DEPLOY / "compose" / "compose.yaml").read_bytes())
    chart = msgspec.yaml.decode((DEPLOY / "helm" / "platestream" / "values.yaml").read_bytes())
    unit = _text(DEPLOY / "systemd" / "platestream@api.service.d" / "process.conf")
    limits = [
        compose["services"]["api"]["mem_limit"],
        chart["processes"]["api"]["resources"]["limits"]["memory"],
        *re.findall(r"^MemoryMax=(.*)$", unit, re.MULTILINE),
    ]

    assert len(limits) == 3
    assert all(needed <= _in_bytes(limit) for limit in limits)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
