"""Creates the account and API key of a local stack, and writes both to a file for scripts."""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Self

import httpx
import msgspec
from platestream_client import ApiError, Client, RetryPolicy

from deploy.local.files import Layout, write_whole
from deploy.local.plan import Analyst, StackPlan
from deploy.local.servers.base import CLONE
from deploy.local.waiting import StartError

OWNER_EMAIL = "owner@platestream.example"
# These credits are enough to try POST /api/recognize many times.
_STARTING_CREDITS = 10_000
_COMMAND_SECONDS = 60


class Access(msgspec.Struct, frozen=True, rename="camel"):
    """The URL and credentials for scripts. ``demo_camera_id`` is empty if there is no demo camera.

    The last three fields are for the embedded ClickHouse's analyst, and may be missing.
    """

    base_url: str
    api_key: str
    email: str
    password: str
    demo_camera_id: str = ""
    clickhouse_url: str | msgspec.UnsetType = msgspec.UNSET
    analyst_user: str | msgspec.UnsetType = msgspec.UNSET
    analyst_password: str | msgspec.UnsetType = msgspec.UNSET

    def client(self) -> Client:
        """Return a client for the stack's API that uses neither a proxy nor retries."""
        transport = httpx.HTTPTransport()
        retries = RetryPolicy(attempts=1)
        return Client(self.base_url, self.api_key, retries=retries, transport=transport)

    def with_analyst(self, analyst: Analyst | None) -> Self:
        """Return a copy with this analyst's credentials, or without an analyst."""
        return msgspec.structs.replace(
            self,
            clickhouse_url=analyst.clickhouse_url if analyst else msgspec.UNSET,
            analyst_user=analyst.user if analyst else msgspec.UNSET,
            analyst_password=analyst.password if analyst else msgspec.UNSET,
        )

    def __repr__(self) -> str:
        return f"Access(base_url={self.base_url!r}, api_key=***)"


def ensure_access(plan: StackPlan) -> Access:
    """Return the access data. Create the account and API key if necessary. The API must be running.

    Raises:
        StartError: the ``platestream`` command failed. The message contains the command's output.
    """
    known = read_access(plan.layout)
    if known is not None and known.base_url == plan.base_url and _is_valid(known):
        access = known.with_analyst(plan.analyst)
        if access != known:
            write_access(plan.layout, access)
        return access
    password = plan.secrets.owner_password
    owners = json.loads(_platestream(plan, "owner", "list"))["owners"]
    owner = ("--email", OWNER_EMAIL)
    if OWNER_EMAIL not in [known_owner["email"] for known_owner in owners]:
        how = ("--password-stdin", "--credits", str(_STARTING_CREDITS))
        _platestream(plan, "owner", "create", *owner, *how, given=password)
    what = ("--name", "local stack", "--scopes", "all")
    key = json.loads(_platestream(plan, "key", "create", *owner, *what))["plainKey"]
    access = Access(plan.base_url, key, OWNER_EMAIL, password).with_analyst(plan.analyst)
    write_access(plan.layout, access)
    return access


def read_access(layout: Layout) -> Access | None:
    """Return the content of the access file, or None if it does not exist."""
    if not layout.access.exists():
        return None
    return msgspec.json.decode(layout.access.read_bytes(), type=Access)


def write_access(layout: Layout, access: Access) -> None:
    """Write the access file, readable only by this user."""
    text = msgspec.json.format(msgspec.json.encode(access), indent=2).decode()
    write_whole(layout.access, text + "\n", mode=0o600)


def _is_valid(access: Access) -> bool:
    with access.client() as client:
        try:
            client.account.session()
        except ApiError:
            return False
    return True


def _platestream(plan: StackPlan, *arguments: str, given: str = "") -> bytes:
    command: Sequence[str] = (sys.executable, "-m", "api.cli", *arguments, "--json")
    try:
        result = subprocess.run(
            command,
            input=given.encode(),
            capture_output=True,
            cwd=CLONE,
            env=dict(plan.environment),
            timeout=_COMMAND_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        name = " ".join(arguments[:2])
        raise StartError(
            f"platestream {name} did not finish within {_COMMAND_SECONDS} s"
        ) from error
    if result.returncode != 0:
        output = result.stderr.decode(errors="replace")
        raise StartError(f"platestream {' '.join(arguments[:2])} failed: {output}")
    return result.stdout
