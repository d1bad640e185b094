"""Stores the state of a login in a cookie that only this installation can create and read."""

import secrets
import time
from dataclasses import dataclass
from typing import Final

import msgspec

from common.errors import MisconfiguredError
from common.secrets import SecretBox

FLOW_COOKIE: Final = "oidc"
"""Name of the cookie that the browser stores while the person logs in at the provider."""

FLOW_SECONDS: Final = 600
"""Time limit for logging in at the provider."""

_RANDOM_BYTES: Final = 32


@dataclass(frozen=True, repr=False)
class Flow:
    """The values that bind the provider's response to the login that was started.

    The browser returns ``state``; the ID token contains ``nonce``. The code is exchanged with
    ``verifier``. ``invitation`` is the token of the invitation to accept with this login.
    ``started`` is the time at which the login started (Unix seconds).

    **Source:** OpenID Connect Core 1.0, section 3.1; RFC 7636.
    """

    state: str
    nonce: str
    verifier: str
    invitation: str | None = None
    started: float = 0.0


@dataclass(frozen=True)
class Identity:
    """A person at the provider. ``email`` is in lower case, or None if it is not verified.

    ``named_email`` is the address even if it is not verified, for the audit log only.
    """

    issuer: str
    subject: str
    email: str | None
    name: str
    named_email: str | None = None


def new_flow(invitation: str | None) -> Flow:
    """Return the state of a new login."""
    state, nonce, verifier = (secrets.token_urlsafe(_RANDOM_BYTES) for _ in range(3))
    return Flow(state, nonce, verifier, invitation, time.time())


class FlowCookies:
    """Creates and reads the cookies of logins at the provider."""

    def __init__(self, box: SecretBox) -> None:
        """``box`` encrypts the cookies, which prove that the browser started the login."""
        self._box = box

    def cookie(self, flow: Flow) -> str:
        """Return the cookie for a new login."""
        return self._box.encrypt(msgspec.json.encode({FLOW_COOKIE: flow}).decode())

    def flow(self, cookie: str | None, state: str) -> Flow | None:
        """Return the login in a cookie, or None if it is invalid or has another ``state``."""
        if not cookie:
            return None
        try:
            content = self._box.decrypt(cookie, max_age_seconds=FLOW_SECONDS)
            # The name ensures that other data encrypted with the key is not accepted.
            flow = msgspec.json.decode(content, type=dict[str, Flow])[FLOW_COOKIE]
        except (MisconfiguredError, msgspec.DecodeError, KeyError):
            return None
        return flow if secrets.compare_digest(flow.state.encode(), state.encode()) else None
