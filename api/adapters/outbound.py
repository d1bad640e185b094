"""Checks clients' outbound URLs by the addresses to which the host names resolve."""

import asyncio
from collections.abc import Sequence

import structlog

from api.errors import ApiError, ErrorCode, FieldFault
from api.limits.fair_queue import QueueFullError, QueueLimits, current_caller
from api.limits.fair_threads import FairThreads
from common.errors import InvalidInputError
from common.networks import IpAddress, is_loopback_name
from common.urls.outbound import (
    OutboundRules,
    OutboundUrl,
    check_outbound_address,
    parse_outbound_url,
)
from common.urls.resolver import look_up

log = structlog.get_logger()

_LOOK_UP_SECONDS = 2.0
# Resolving a name whose DNS servers are down occupies a thread for longer than callers wait.
_LOOK_UPS = QueueLimits(at_once=16, waiting=1_000, each=4)
_SERVICE_ADDRESSES = QueueLimits(at_once=1, waiting=1_000)
_TOO_MANY = "Too many notification URLs are being checked. Try again shortly."


class HostResolver:
    """Runs the system's resolver in separate threads. Accounts take turns."""

    def __init__(self) -> None:
        self._threads = FairThreads("resolver", _LOOK_UPS)

    async def addresses(self, host: str, port: int) -> Sequence[IpAddress]:
        """Return all addresses of ``host``, or () if the lookup fails or takes over 2 s."""
        try:
            async with asyncio.timeout(_LOOK_UP_SECONDS):
                found = await self._threads.run(current_caller(), look_up, host, port)
        except (OSError, UnicodeError, TimeoutError, QueueFullError) as error:
            log.info("outbound_host_not_resolved", error=type(error).__name__)
            return ()
        return tuple({one.address for one in found})

    def close(self) -> None:
        """Cancel waiting lookups, and discard the results of running lookups."""
        self._threads.close(wait=False, cancel_futures=True)


class OutboundUrlChecker:
    """Rejects URLs whose hosts resolve to networks to which sending is not allowed.

    A name that does not resolve now is accepted, because each delivery resolves the name again.
    """

    def __init__(self, resolver: HostResolver, rules: OutboundRules) -> None:
        self._resolver = resolver
        self._rules = rules
        # Apprise URLs are checked for one account at a time. Accounts take turns.
        self._threads = FairThreads("services", _SERVICE_ADDRESSES, too_many=_TOO_MANY)

    async def check(
        self, urls: Sequence[tuple[str, str]], services: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Check ``urls``, which are pairs of a field path and a URL.

        ``services`` are pairs of a field path and an Apprise URL.

        Raises:
            ApiError: 400, URLs are invalid (see ``fields``); 429, too many checks are waiting.
        """
        found = await asyncio.gather(
            *(self._fault(path, url) for path, url in urls),
            *(self._service_fault(path, url) for path, url in services),
        )
        faults = [fault for fault in found if fault is not None]
        if faults:
            raise ApiError(ErrorCode.INVALID_REQUEST, fields=faults)

    async def _service_fault(self, path: str, text: str) -> FieldFault | None:
        try:
            url = await self._threads.run(current_caller(), _first_address, text)
        except InvalidInputError as error:
            return FieldFault(path, str(error))
        return await self._fault(path, url)

    async def _fault(self, path: str, text: str) -> FieldFault | None:
        try:
            await self._check_resolved(parse_outbound_url(text, self._rules))
        except InvalidInputError as error:
            return FieldFault(path, str(error))
        return None

    async def _check_resolved(self, url: OutboundUrl) -> None:
        # IP addresses and loopback names have been checked by parse_outbound_url.
        if url.address is not None or is_loopback_name(url.host):
            return
        for address in await self._resolver.addresses(url.host, url.port):
            check_outbound_address(address, self._rules)


def _first_address(text: str) -> str:
    # Apprise is large and slow to import. Installations without Apprise URLs never load it.
    from common.apprise.plugins import first_request_url

    return first_request_url(text)
