"""Turns a camera's host name into an address that may be connected to."""

from ipaddress import ip_address

from common.errors import InvalidInputError
from common.urls.resolver import look_up
from common.urls.streams import StreamUrlRules, check_address, literal_address
from ingest.errors import CaptureError, CaptureErrorCode


def resolve(host: str, port: int, rules: StreamUrlRules) -> str:
    """Return an IP address of ``host``, checked against the rules at this very moment.

    Connecting to what this returns, not to the name, leaves a name that changes its mind between
    check and use (DNS rebinding) nothing to win. One forbidden address refuses the name.

    Raises:
        CaptureError: forbidden, or not to be found.
    """
    literal = literal_address(host)
    # The caller's form may be an old one (127.1), which resolvers read differently.
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
