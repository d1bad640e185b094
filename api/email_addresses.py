"""Which e-mail addresses the service writes to."""

import re

MAX_EMAIL_CHARACTERS = 254

_LOCAL_PART = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*\Z")
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\Z")
_MAX_LOCAL_CHARACTERS = 64


def check_email_address(text: str) -> str:
    """Return ``text``, which is an e-mail address that the internet can deliver to.

    Quoted users, addresses in brackets and letters beyond ASCII are left out: few servers take
    them, and nothing of an address may break out of a message's header.

    Raises:
        ValueError: it is none.

    **Source:** RFC 5321, sections 4.1.2 and 4.5.3.
    """
    local, _, domain = text.rpartition("@")
    labels = domain.split(".")
    is_address = (
        len(text) <= MAX_EMAIL_CHARACTERS
        and len(local) <= _MAX_LOCAL_CHARACTERS
        and _LOCAL_PART.match(local) is not None
        and len(labels) > 1
        and all(_LABEL.match(label) for label in labels)
        and not labels[-1].isdigit()
    )
    if not is_address:
        raise ValueError("is not an e-mail address")
    return text
