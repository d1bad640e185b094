"""CPU of the gate for each request: key or cookie, limits, scope. No server is needed.

    python -m tools.benchmarks.gate_cost [--requests 20000] [--store redis://127.0.0.1:6379/0]

Everything as in the service but PostgreSQL, of which one answer in 0.8 s is asked.
"""

import argparse
import asyncio
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, cast

from pydantic import SecretStr

from api.db.database import Database
from api.limits.limiter import FailedAuthentications, LimitRules, RateLimiter
from api.limits.owner_limits import OwnerLimit, OwnerLimits
from api.limits.storage import LimitStore, SharedLimitStore
from api.middleware.guard import check_scope
from api.recognize.routes import recognize
from api.security import credentials
from api.security.authentication import Authenticator
from api.security.permissions import ALL_SCOPES, declared_access
from api.security.repository import KeyRecord

_ROUNDS = 5


class _OneKey:
    """In the place of the database: it knows one key."""

    def __init__(self, record: KeyRecord) -> None:
        self._record = record

    async def run(self, work: Callable[[Any], Any]) -> Any:
        """Answer whatever is asked."""
        return self._record


def _record(key: str) -> KeyRecord:
    now = datetime.now(UTC)
    return KeyRecord(
        id=uuid.uuid4(),
        owner_id=uuid.uuid4(),
        name="bench",
        prefix=key[:11],
        scopes=ALL_SCOPES,
        enabled=True,
        created_at=now,
        last_used_at=now,
        expires_at=None,
    )


async def measure(requests: int, store: LimitStore | None) -> float:
    """Return the CPU time of one request at the gate, ms."""
    key = credentials.new_api_key()
    database = cast(Database, _OneKey(_record(key)))
    authenticator = Authenticator(database, FailedAuthentications(100, store))
    rules = LimitRules(10_000_000, 10_000_000, 0, block_seconds=300)
    limiter = RateLimiter(rules, OwnerLimits(dict.fromkeys(OwnerLimit, 10_000_000)), store)
    access = declared_access(recognize)
    header = f"Bearer {key}"
    started = time.process_time()
    for _ in range(requests):
        principal = await authenticator.authenticate(header, "192.0.2.1")
        await limiter.admit(principal, recognizes=access.recognizes)
        check_scope(principal, access)
    took = time.process_time() - started
    if store is not None:
        await store.close()
    await authenticator.close()
    return took * 1000 / requests


def main() -> None:
    """Print the figures of some rounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--store", help="count in this shared store instead of in memory")
    arguments = parser.parse_args()
    for _ in range(_ROUNDS):
        store = None if arguments.store is None else SharedLimitStore(SecretStr(arguments.store))
        cost_ms = asyncio.run(measure(arguments.requests, store))
        print(f"image call (two limits): {cost_ms:.3f} ms of CPU at the gate")


if __name__ == "__main__":
    main()
