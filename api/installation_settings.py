"""Settings for monitoring an installation, and the accounts that operate it."""

from pathlib import Path
from typing import Annotated
from uuid import UUID

from pydantic import BeforeValidator, Field
from pydantic_settings import NoDecode

from common.metrics import HealthPageSettings
from common.settings import Fragment


def _folders(value: object) -> object:
    """Split a comma-separated list of folders."""
    if not isinstance(value, str):
        return value
    return tuple(Path(part.strip()) for part in value.split(",") if part.strip())


class DiskSettings(Fragment):
    """The disks that are monitored."""

    disk_folders: Annotated[tuple[Path, ...], NoDecode, BeforeValidator(_folders)] = Field(
        (),
        description="Comma-separated folders whose disks are monitored: /readyz and "
        "`platestream stack check` warn at 80 % usage. Set automatically in the "
        "local stack.",
    )


def _accounts(value: object) -> object:
    """Split a comma-separated list of email addresses and IDs of accounts."""
    if not isinstance(value, str):
        return value
    accounts = tuple(part.strip().lower() for part in value.split(",") if part.strip())
    if not all("@" in account or _is_id(account) for account in accounts):
        raise ValueError("must be email addresses or IDs of accounts, separated by commas")
    return accounts


def _is_id(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


class OperatorSettings(Fragment):
    """The accounts that operate the installation."""

    operator_accounts: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_accounts)] = Field(
        (),
        description="Comma-separated email addresses or IDs of the accounts whose administrators "
        "see the state of the installation (stages, disks, dependencies); empty: the first account "
        "that was created.",
    )


class InstallationSettings(DiskSettings, HealthPageSettings, OperatorSettings):
    """Settings of the health pages, the disks, and the accounts that operate the installation."""
