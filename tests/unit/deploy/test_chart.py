"""deploy/helm compared with the processes, their settings, and the console."""

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from api.console.assets import ASSETS
from api.console.routes import VIEWS
from tests.unit.deploy.programs import DEPLOY, PROGRAMS, known_settings, required, secrets

CHART = DEPLOY / "helm" / "platestream"


def _read(name: str) -> Mapping[str, Any]:
    decoded: Mapping[str, Any] = msgspec.yaml.decode((CHART / name).read_text())
    return decoded


PROCESSES = _read("files/processes.yaml")
VALUES = _read("values.yaml")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_process_has_its_module_its_port_and_its_secrets(name: str) -> None:
    program, made = PROGRAMS[name], PROCESSES[name]
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    needed = required(program.settings) & secrets(program)

    assert made["module"] == program.command[-1]
    assert set(made["secrets"]) == needed
    assert set(made["optionalSecrets"]) == secrets(program) - needed
    assert made["port"] == 8000 or name != "api"
    pages = made.get("metricsPort", made["port"])
    assert f"PLATESTREAM_METRICS_PORT={pages} " in dockerfile


def test_values_and_their_schema_know_the_same_processes() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())

    assert PROCESSES.keys() == VALUES["processes"].keys() == PROGRAMS.keys()
    assert schema["properties"]["processes"]["properties"].keys() == PROGRAMS.keys()
    assert VALUES.keys() | {"global"} == schema["properties"].keys()


def test_no_secret_may_stand_among_the_settings() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    pattern = schema["definitions"]["variables"]["propertyNames"]["not"]["pattern"]
    all_secrets = {name for program in PROGRAMS.values() for name in secrets(program)}

    assert {name for name in known_settings() if re.search(pattern, name)} >= all_secrets
    assert VALUES["settings"].keys() <= known_settings() - all_secrets


def test_the_ingress_has_every_view_of_the_console() -> None:
    helpers = (CHART / "templates" / "_helpers.tpl").read_text()
    found = re.search(r'define "platestream.paths" -}}\n(.*)\n', helpers)
    assert found is not None

    views = {"/" + view.split("/")[1] for view in VIEWS}
    assert set(found[1].split()) == {*views, "/api", ASSETS}
