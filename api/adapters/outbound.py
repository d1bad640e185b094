"""Addresses to which clients want things sent: what they resolve to, beyond their spelling."""

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
# A name whose servers do not answer uses a thread for longer than its caller waits.
_LOOK_UPS = QueueLimits(at_once=16, waiting=1_000, each=4)
_SERVICE_ADDRESSES = QueueLimits(at_once=1, waiting=1_000)
_TOO_MANY = "Too many notification URLs are being checked. Try again shortly."


class HostResolver:
    """The machine's own resolver, in separate threads. Owners take turns."""

    def __init__(self) -> None:
        self._threads = FairThreads("resolver", _LOOK_UPS)

    async def addresses(self, host: str, port: int) -> Sequence[IpAddress]:
        """Return all addresses of ``host``; none if it has none or there is no answer in 2 s."""
        try:
            async with asyncio.timeout(_LOOK_UP_SECONDS):
                found = await self._threads.run(current_caller(), look_up, host, port)
        except (OSError, UnicodeError, TimeoutError, QueueFullError) as error:
            log.info("outbound_host_not_resolved", error=type(error).__name__)
            return ()
        return tuple({one.address for one in found})

    def close(self) -> None:
        """Drop look-ups that are waiting; running ones end without a caller."""
        self._threads.close(wait=False, cancel_futures=True)


class OutboundUrlChecker:
    """Refuses addresses that resolve to networks to which nothing is sent.

    A name that does not resolve now is taken: delivery asks again each time it connects.
    """

    def __init__(self, resolver: HostResolver, rules: OutboundRules) -> None:
        self._resolver = resolver
        self._rules = rules
        # Owners take turns.
        self._threads = FairThreads("services", _SERVICE_ADDRESSES, too_many=_TOO_MANY)

    async def check(
        self, urls: Sequence[tuple[str, str]], services: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Check all of ``urls``, pairs of the field's path and the address.

        ``services`` are pairs of that kind with Apprise addresses.

        Raises:
            ApiError: 400, naming each field at fault; 429, too many addresses are waiting.
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
        # A literal address and the machine's own names were judged by their spelling.
        if url.address is not None or is_loopback_name(url.host):
            return
        for address in await self._resolver.addresses(url.host, url.port):
            check_outbound_address(address, self._rules)


def _first_address(text: str) -> str:
    # Apprise is slow to import, and large: an installation without such addresses goes without.
    from common.apprise.plugins import first_request_url

    return first_request_url(text)
