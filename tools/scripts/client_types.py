"""Makes the types of both clients from the API's own description.

Command: ``make client-types``, or ``python -m tools.scripts.client_types`` where the packages of
clients/typescript are installed.
"""

import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from inspect import cleandoc
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from api.app import create_app
from api.openapi import describe

CLIENTS: Final = Path(__file__).resolve().parents[2] / "clients"
PYTHON: Final = CLIENTS / "python" / "platestream_client" / "models.py"
TYPESCRIPT: Final = CLIENTS / "typescript" / "src" / "schema.d.ts"
_PYTHON_GENERATOR: Final = "datamodel-code-generator==0.89.0"
_PYTHON_OPTIONS: Final = (
    *("--input-file-type", "openapi", "--output-model-type", "typing.TypedDict"),
    *("--target-python-version", "3.11", "--enum-field-as-literal", "all"),
    *("--use-schema-description", "--use-field-description", "--use-single-line-docstring"),
    *("--no-use-closed-typed-dict", "--disable-timestamp", "--formatters", "builtin"),
)
_PROSE: Final = frozenset({"description", "examples", "title"})
_EVENT: Final = "Event"


@cache
def schemas() -> Mapping[str, Any]:
    """Return the schemas of all bodies and answers, and of the events, each with a name."""
    description = describe(create_app())
    events = {
        _event_name(webhook["post"]["operationId"]): _body(webhook["post"])
        for webhook in description["webhooks"].values()
    }
    references = [{"$ref": f"#/components/schemas/{name}"} for name in events]
    union = {"oneOf": references, "description": "What a receiver of webhooks gets."}
    found: Mapping[str, Any] = _tidied(
        {**description["components"]["schemas"], **events, _EVENT: union}
    )
    return found


def _body(operation: Mapping[str, Any]) -> Mapping[str, Any]:
    body: Mapping[str, Any] = operation["requestBody"]["content"]["application/json"]["schema"]
    return {"description": f"{operation['summary']}.", **body}


def _event_name(operation_id: str) -> str:
    words = operation_id.removeprefix("on_").split("_")
    return "".join(word.capitalize() for word in words) + _EVENT


def _tidied(part: Any) -> Any:
    """Return a part of the schemas with its sentences freed of what indented them."""
    if isinstance(part, dict):
        return {
            name: cleandoc(value)
            if name == "description" and isinstance(value, str)
            else _tidied(value)
            for name, value in part.items()
        }
    return [_tidied(one) for one in part] if isinstance(part, list) else part


def fingerprint() -> str:
    """Return a sum over the names and types that clients go by, whatever the sentences say."""
    text = json.dumps(_without_prose(schemas()), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _without_prose(part: Any, *, names: bool = True) -> Any:
    """Return a part without its sentences; ``names`` says that its keys are names of ours."""
    if isinstance(part, dict):
        return {
            key: _without_prose(value, names=key == "properties" and not names)
            for key, value in part.items()
            if names or key not in _PROSE
        }
    if isinstance(part, list):
        return [_without_prose(one, names=False) for one in part]
    return part


def generate() -> None:
    """Write the types of both clients.

    Raises:
        subprocess.CalledProcessError: a generator is missing or does not understand the schemas.
    """
    with TemporaryDirectory() as scratch:
        description = Path(scratch) / "openapi.json"
        info = {"title": "Platestream API", "version": "0"}
        whole = {"openapi": "3.1.0", "info": info, "paths": {}}
        description.write_text(json.dumps({**whole, "components": {"schemas": schemas()}}))
        _python(description)
        _typescript(description)


def _python(description: Path) -> None:
    uv = Path(sys.executable).with_name("uv")
    tool = (str(uv), "tool", "run", "--from", _PYTHON_GENERATOR, "datamodel-codegen")
    files = ("--input", str(description), "--output", str(PYTHON))
    header = f"# Made by `make client-types` from the API's schemas: sha256 {fingerprint()}"
    subprocess.run((*tool, *files, *_PYTHON_OPTIONS, "--custom-file-header", header), check=True)
    subprocess.run((sys.executable, "-m", "ruff", "format", "--quiet", str(PYTHON)), check=True)


def _typescript(description: Path) -> None:
    tool = ("npx", "--no-install", "openapi-typescript", str(description))
    command = (*tool, "--default-non-nullable", "false", "--output", str(TYPESCRIPT))
    subprocess.run(command, cwd=CLIENTS / "typescript", check=True)
    header = f"// Made by `make client-types` from the API's schemas: sha256 {fingerprint()}\n"
    TYPESCRIPT.write_text(header + TYPESCRIPT.read_text(encoding="utf-8"), encoding="utf-8")


if __name__ == "__main__":
    generate()
