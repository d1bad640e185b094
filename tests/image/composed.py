"""The services of deploy/compose/compose.yaml with their variables filled in."""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from deploy.local.servers.base import CLONE

COMPOSE_FILE: Final = CLONE / "deploy" / "compose" / "compose.yaml"
_VARIABLE: Final = re.compile(r"\$(?:\$|\{(?P<name>\w+)(?::(?P<kind>[-?])(?P<rest>[^}]*))?\})")


def services(settings: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return the services of the file with these settings in ``.env``.

    **Source:** Compose specification, "Interpolation": only the forms that the file uses. A name in
    ``environment`` without a value is passed on if it is set.
    """
    text = interpolated(COMPOSE_FILE.read_text(), settings)
    found: dict[str, dict[str, Any]] = msgspec.yaml.decode(text)["services"]
    for service in found.values():
        given = {
            name: settings.get(name, value) if value is None else value
            for name, value in service.get("environment", {}).items()
        }
        service["environment"] = {n: str(v) for n, v in given.items() if v is not None}
    return found


def interpolated(text: str, settings: Mapping[str, str], *, strict: bool = True) -> str:
    """Return a compose file with its variables filled in; ``strict`` requires a value for each."""
    return _VARIABLE.sub(lambda found: _value(found, settings, strict), text)


def _value(found: re.Match[str], settings: Mapping[str, str], strict: bool) -> str:
    if found["name"] is None:
        return "$"
    value = settings.get(found["name"], "")
    if found["kind"] == "-":
        return value or found["rest"]
    assert value or found["kind"] is None or not strict, f"{found['name']}: {found['rest']}"
    return value
