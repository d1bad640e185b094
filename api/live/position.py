"""Where a reader of the stream is: an offset in each partition, sealed as an event id."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from contracts.errors import MisconfiguredError
from contracts.secrets import SecretBox

_KIND = "recognition-stream"


@dataclass(frozen=True)
class StreamPosition:
    """Everything before ``offsets`` (partition to next offset) was seen at ``at_ms`` (Unix ms)."""

    offsets: Mapping[int, int]
    at_ms: int


class PositionSealer:
    """Makes and opens event ids. Encrypted: offsets would tell how busy other accounts are."""

    def __init__(self, box: SecretBox) -> None:
        """Take the installation's secrets."""
        self._box = box

    def seal(self, position: StreamPosition) -> str:
        """Return the id of an event after which a reader is at ``position``."""
        pairs = sorted(position.offsets.items())
        return self._box.encrypt(json.dumps([_KIND, position.at_ms, pairs]))

    def open(self, event_id: str) -> StreamPosition | None:
        """Return the position, None where this installation never gave such an id."""
        try:
            content = json.loads(self._box.decrypt(event_id))
        except (MisconfiguredError, ValueError):
            # The box calls any text that it did not make misconfigured.
            return None
        if not isinstance(content, list) or content[:1] != [_KIND]:
            return None
        _, at_ms, pairs = content
        return StreamPosition(dict(pairs), at_ms)
