"""The service's own processes by name, and the settings that each process uses."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from common.settings import Fragment
from deploy.local.plan import APPLICATION, MQTT
from deploy.local.servers.base import CLONE, Program
from tools.scripts.settings_docs import settings_classes

DEPLOY: Final[Path] = CLONE / "deploy"
PROGRAMS: Final = {program.name: program for program in (*APPLICATION, MQTT)}


def used(program: Program) -> set[str]:
    """Return the environment variables that a process reads."""
    return variables(program.settings)


def variables(classes: Iterable[type[Fragment]]) -> set[str]:
    """Return the environment variables that settings classes read."""
    return {name for settings in classes for name in settings.environment_names()}


def required(classes: Iterable[type[Fragment]]) -> set[str]:
    """Return the environment variables without a default."""
    return {
        variable
        for settings in classes
        for variable, field in settings.environment_names().items()
        if settings.model_fields[field].is_required()
    }


def secrets(program: Program) -> set[str]:
    """Return the secrets among the environment variables that a process reads."""
    return {
        variable
        for settings in program.settings
        for variable, field in settings.environment_names().items()
        if SecretStr.__name__ in str(settings.model_fields[field].annotation)
    }


def known_settings() -> set[str]:
    """Return every environment variable that any process reads."""
    return variables(settings_classes())
