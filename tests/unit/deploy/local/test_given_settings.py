"""Each process gets only the settings that it loads."""

import runpy
import sys
from typing import Any

import pytest
from pydantic_settings import BaseSettings

from common.settings import Fragment
from deploy.local.plan import APPLICATION, MIGRATIONS, MQTT_WITHOUT_IMAGES
from deploy.local.servers.clickhouse import ClickHouseServer

_STARTED = (*APPLICATION, MQTT_WITHOUT_IMAGES, *MIGRATIONS)


class _LoadedError(BaseException):
    """Raised when a process loads its first settings."""

    def __init__(self, settings: type[Fragment]) -> None:
        super().__init__(settings)
        self.settings = settings


def _loaded(monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]) -> type[Fragment]:
    def stop(self: Any, **_: object) -> None:
        raise _LoadedError(type(self))

    module, *arguments = command[command.index("-m") + 1 :]
    monkeypatch.setattr(BaseSettings, "__init__", stop)
    monkeypatch.setattr("sys.argv", [module, *arguments])
    # Another test may have imported the module, but a process runs it from the start.
    monkeypatch.delitem(sys.modules, f"{module}.__main__", raising=False)
    with pytest.raises(_LoadedError) as loaded:
        runpy.run_module(module, run_name="__main__", alter_sys=False)
    return loaded.value.settings


@pytest.mark.parametrize("started", _STARTED, ids=lambda started: started.name)
def test_each_process_is_given_the_settings_that_it_loads(
    monkeypatch: pytest.MonkeyPatch, started: Any
) -> None:
    given = {name for each in started.settings for name in each.environment_names()}

    assert given == set(_loaded(monkeypatch, started.command).environment_names())


def test_clickhouse_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    program = ClickHouseServer(directory=tmp_path, port=1, password="any").program()

    assert program.settings == (_loaded(monkeypatch, program.command),)
