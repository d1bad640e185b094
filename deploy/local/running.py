"""What the running stack was started with, to tell when it is asked for with other settings."""

from collections.abc import Mapping
from hashlib import sha256

import msgspec

from deploy.local.files import Layout, write_whole

_PREFIX = "PLATESTREAM_"


class StartedWith(msgspec.Struct, frozen=True, rename="camel"):
    """Address of the API, and a hash of each setting, because some are secret."""

    base_url: str
    settings: dict[str, str]


def note_start(layout: Layout, base_url: str, environment: Mapping[str, str]) -> None:
    """Write down what the stack is being started with."""
    started_with = StartedWith(base_url, _digests(environment))
    write_whole(layout.started_with, msgspec.json.encode(started_with).decode(), mode=0o600)


def read_start(layout: Layout) -> StartedWith | None:
    """Return what the stack was last started with, None before the first start."""
    if not layout.started_with.exists():
        return None
    return msgspec.json.decode(layout.started_with.read_bytes(), type=StartedWith)


def changed_settings(layout: Layout, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of the settings that are not what the stack was started with."""
    started_with = read_start(layout)
    before = started_with.settings if started_with else {}
    now = _digests(environment)
    return tuple(sorted(name for name in {*before, *now} if before.get(name) != now.get(name)))


def _digests(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: sha256(value.encode()).hexdigest()[:16]
        for name, value in environment.items()
        if name.startswith(_PREFIX)
    }
