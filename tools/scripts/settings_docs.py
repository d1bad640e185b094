"""Writes docs/settings.md from the settings classes.

Command: ``python -m tools.scripts.settings_docs [--check]``.
"""

import importlib
import pkgutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from common.settings import SETTING_PREFIX, Fragment

CLONE = Path(__file__).resolve().parents[2]
DOCUMENT = CLONE / "docs" / "settings.md"
ROOMS = ("common", "recognition", "ingest", "streams", "api", "analytics_sql", "deploy")
HEAD = """# Settings

Settings are environment variables. The local stack also reads `platestream.env` in the clone (one
`NAME=value` per line); environment variables take precedence. Each process of the stack gets only
its own settings. A process with invalid settings reports all errors and exits with status 78.

The local stack generates `PLATESTREAM_SECRET_KEY` and the addresses and passwords of its servers.
If you set the address of a server, the stack uses that server and does not start its own. Some
defaults differ in the local stack:

- `PLATESTREAM_CAMERA_FILES_FOLDER` is `.local/camera-files` and `PLATESTREAM_CAMERA_ALLOW_LOOPBACK`
  is `true`, for the demo camera, which is a file.
- `PLATESTREAM_IMAGE_RETENTION_DAYS` is 30.
- `PLATESTREAM_DISK_FOLDERS` lists the folders of the stack's servers.
- `PLATESTREAM_CLICKHOUSE_SERVER_READER_PASSWORD` is generated. If you set it to an empty value, the
  read-only user does not exist.

To store ClickHouse's data on another disk, mount it at `.local/clickhouse` before the first start.

`python -m tools.scripts.settings_docs` generates this page; a test checks that it is up to date.

## The ten most useful settings

The local stack starts without any of these settings.

| setting | when |
|---|---|
"""
FIRST = (
    ("PUBLIC_URL", "the API is reached from other machines; links in emails use this URL"),
    ("TRUSTED_PROXIES", "the API is behind a reverse proxy"),
    ("S3_PUBLIC_ENDPOINT", "images are opened on other machines"),
    ("WEBHOOK_ALLOWED_NETWORKS", "webhook receivers are in a private network"),
    ("SMTP_HOST", "alerts should send email; see also the other `SMTP_…` settings"),
    ("MQTT_HOST", "events should go to an MQTT broker or Home Assistant"),
    ("IMAGE_RETENTION_DAYS", "images should be stored for a shorter or longer time, or forever"),
    ("RECOGNITION_WORKERS", "frames are late although the CPU is not fully used"),
    ("INGEST_SAMPLE_FPS", "the CPU is overloaded, or vehicles are missed"),
    ("DEMO_ENABLED", "the API is reached from other machines; `false` disables `/api/demo`"),
)
"""Names (without prefix) of settings that many installations change, with the reasons."""

ALL = """
## All settings

| setting | default | meaning | used by |
|---|---|---|---|
"""
LOCAL_STACK = "deploy.local"


def _settings_modules(room: str) -> Iterator[str]:
    package = importlib.import_module(room)
    for module in pkgutil.walk_packages(package.__path__, f"{room}."):
        if module.name.rpartition(".")[2] == "settings":
            yield module.name


def settings_classes() -> tuple[type[Fragment], ...]:
    """Return all settings classes of the service, including partial classes, sorted by module."""
    found = {
        value
        for room in ROOMS
        for name in _settings_modules(room)
        for value in vars(importlib.import_module(name)).values()
        if isinstance(value, type) and issubclass(value, Fragment) and value is not Fragment
    }
    return tuple(sorted(found, key=lambda cls: (cls.__module__, cls.__qualname__)))


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.default
    if value is PydanticUndefined or isinstance(value, SecretStr):
        return "–"
    if isinstance(value, Path) and value.is_relative_to(CLONE):
        value = value.relative_to(CLONE)
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, bool):
        value = str(value).lower()
    if value is None or value in ("", ()):
        return "–"
    return f"`{value}`"


@dataclass
class _Setting:
    """A setting's row in the table. ``in_local_stack`` says what differs in the local stack."""

    default: str
    meaning: str
    users: set[str]
    in_local_stack: str = ""

    def row(self, name: str) -> str:
        """Return the row of the table."""
        meaning = f"{self.meaning} {self.in_local_stack}".strip()
        return (
            f"| `{name}` | {self.default} | {meaning} | {', '.join(sorted(self.users)) or '–'} |\n"
        )


def render() -> str:
    """Return the whole document.

    Raises:
        ValueError: two settings classes describe the same setting differently.
    """
    found: dict[str, _Setting] = {}
    # The local stack comes last, so that its description is appended.
    for cls in sorted(settings_classes(), key=lambda cls: _room(cls) == LOCAL_STACK):
        for variable, name in cls.environment_names().items():
            _add(found, variable, cls, cls.model_fields[name])
    first = [f"| `{SETTING_PREFIX}{name}` | {occasion} |\n" for name, occasion in FIRST]
    return HEAD + "".join(first) + ALL + "".join(found[name].row(name) for name in sorted(found))


def _add(found: dict[str, _Setting], variable: str, cls: type[Fragment], field: FieldInfo) -> None:
    room, default, meaning = _room(cls), _default(field), field.description or ""
    known = found.setdefault(variable, _Setting(default, meaning, set()))
    known.users |= {room} - {"common"}
    if (known.default, known.meaning) == (default, meaning):
        return
    if room != LOCAL_STACK:
        raise ValueError(f"{variable} is described differently in {room}: {default}, {meaning}")
    stated = "unset" if default == "–" else default
    known.in_local_stack = f"Local stack ({stated} by default): {meaning}"


def _room(cls: type[Fragment]) -> str:
    return cls.__module__.rpartition(".")[0]


def main() -> None:
    """Write the document. With ``--check``, exit with 1 if the document is out of date."""
    text = render()
    if "--check" in sys.argv[1:]:
        raise SystemExit(0 if DOCUMENT.read_text(encoding="utf-8") == text else 1)
    DOCUMENT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
