"""Compares the Origin and Host headers to reject cross-site requests with cookies."""

from urllib.parse import urlsplit

from common.networks import is_own_machine

_DEFAULT_PORTS = {"http": 80, "https": 443}


def is_same_origin(origin: str, host: str) -> bool:
    """Return whether the headers Origin and Host have the same host and port.

    Schemes are not compared, because the schemes differ behind a proxy that terminates TLS.

    **Source:** RFC 6454, section 7; the OWASP cheat sheet on cross-site request forgery.
    """
    scheme, _, place = origin.partition("://")
    default = _DEFAULT_PORTS.get(scheme)
    if default is None or not place:
        return False
    named = _host_and_port(place, default)
    return named is not None and named == _host_and_port(host, default)


def is_loopback_host(host: str) -> bool:
    """Return whether the Host header names a loopback address."""
    found = _host_and_port(host, 0)
    return found is not None and is_own_machine(found[0])


def _host_and_port(place: str, default_port: int) -> tuple[str, int] | None:
    try:
        parts = urlsplit(f"//{place}")
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host or parts.netloc != place or "@" in place:
        return None
    return host.lower(), port or default_port
