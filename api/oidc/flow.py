"""A log-in under way at the provider: a cookie that only this installation can make and read."""

import secrets
import time
from dataclasses import dataclass
from typing import Final

import msgspec

from common.errors import MisconfiguredError
from common.secrets import SecretBox

FLOW_COOKIE: Final = "oidc"
"""Name of the cookie that goes with a browser to the provider and back."""

FLOW_SECONDS: Final = 600
"""So long somebody may take to log in at the provider."""

_RANDOM_BYTES: Final = 32


@dataclass(frozen=True, repr=False)
class Flow:
    """What binds the way back to the way there.

    ``state`` goes through the browser, ``nonce`` comes back in the token, ``verifier`` is what the
    code is exchanged with. ``invitation`` is the token of the link that is accepted by it.
    ``started`` is when the login started (Unix seconds).

    **Source:** OpenID Connect Core 1.0, section 3.1; RFC 7636.
    """

    state: str
    nonce: str
    verifier: str
    invitation: str | None = None
    started: float = 0.0


@dataclass(frozen=True)
class Identity:
    """Somebody whom the provider knows. ``email`` is lower case, None where it is not verified.

    ``named_email`` is also there where it is not: for the audit log, and for nothing else.
    """

    issuer: str
    subject: str
    email: str | None
    name: str
    named_email: str | None = None


def new_flow(invitation: str | None) -> Flow:
    """Return a log-in that begins."""
    state, nonce, verifier = (secrets.token_urlsafe(_RANDOM_BYTES) for _ in range(3))
    return Flow(state, nonce, verifier, invitation, time.time())


class FlowCookies:
    """Makes and reads the cookies of log-ins under way."""

    def __init__(self, box: SecretBox) -> None:
        """``box`` encrypts them: they hold what proves that the browser began the log-in."""
        self._box = box

    def cookie(self, flow: Flow) -> str:
        """Return the cookie of a log-in that has just begun."""
        return self._box.encrypt(msgspec.json.encode({FLOW_COOKIE: flow}).decode())

    def flow(self, cookie: str | None, state: str) -> Flow | None:
        """Return the log-in that a browser began with this state; None: it did not, or late."""
        if not cookie:
            return None
        try:
            content = self._box.decrypt(cookie, max_age_seconds=FLOW_SECONDS)
            # By its name: nothing else that is encrypted with the key passes as one.
            flow = msgspec.json.decode(content, type=dict[str, Flow])[FLOW_COOKIE]
        except (MisconfiguredError, msgspec.DecodeError, KeyError):
            return None
        return flow if secrets.compare_digest(flow.state.encode(), state.encode()) else None
