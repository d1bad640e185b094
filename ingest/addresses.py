"""Resolves a camera's host name to an allowed IP address."""

from ipaddress import ip_address

from common.errors import InvalidInputError
from common.urls.resolver import look_up
from common.urls.streams import StreamUrlRules, check_address, literal_address
from ingest.errors import CaptureError, CaptureErrorCode


def resolve(host: str, port: int, rules: StreamUrlRules) -> str:
    """Return an IP address of ``host``, checked against the rules.

    Callers connect to this address and not to the name. This prevents DNS rebinding. A name is
    rejected if any of its addresses is forbidden.

    Raises:
        CaptureError: the address is forbidden, or the name cannot be resolved.
    """
    literal = literal_address(host)
    # The host may be in a legacy form (127.1), which resolvers interpret differently.
    addresses = _look_up(host, port) if literal is None else [str(literal)]
    try:
        for address in addresses:
            check_address(ip_address(address.partition("%")[0]), rules)
    except InvalidInputError as error:
        raise CaptureError(CaptureErrorCode.FORBIDDEN) from error
    return addresses[0]


def _look_up(host: str, port: int) -> list[str]:
    try:
        found = look_up(host, port)
    except (OSError, UnicodeError) as error:
        raise CaptureError(CaptureErrorCode.UNREACHABLE) from error
    if not found:
        raise CaptureError(CaptureErrorCode.UNREACHABLE)
    return [one.text for one in found]
