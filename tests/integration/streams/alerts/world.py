"""Inputs and outputs of the alerts stage: alerts, recognitions and triggers."""

from collections.abc import Iterable
from uuid import UUID

import msgspec

from common.records.alerts import AlertConfig, AlertTrigger, ProvisionalRecognition
from common.records.codec import decode, encode
from common.records.ids import recognition_id
from common.records.recognitions import Recognition
from common.records.topics import ALERTS, CONFIG_ALERTS, RECOGNITIONS, SIGHTINGS
from common.settings import KafkaSettings
from tests.integration.streams.stages import Feeder, Reader
from tests.records import recognition
from tests.waiting import wait_until


class World:
    """Communicates with the stage over Kafka."""

    def __init__(self, settings: KafkaSettings) -> None:
        self.kafka = settings
        self._rules = Feeder(settings, CONFIG_ALERTS)
        self._recognitions = Feeder(settings, RECOGNITIONS)
        self._provisional = Feeder(settings, SIGHTINGS)
        self._alerts = Reader(settings, ALERTS)

    def put(self, *alerts: AlertConfig) -> None:
        self._rules.send_pairs((str(each.alert_id).encode(), encode(each)) for each in alerts)

    def delete(self, alert: AlertConfig) -> None:
        self._rules.send_pairs([(str(alert.alert_id).encode(), b"")])

    def see(self, *seen: Recognition) -> None:
        self._recognitions.send_pairs((each.camera_id.bytes, encode(each)) for each in seen)

    def report_provisional(self, *provisional: ProvisionalRecognition) -> None:
        """Publish provisional recognitions and their resolutions."""
        self._provisional.send_pairs(
            (each.recognition.camera_id.bytes, encode(each)) for each in provisional
        )

    def spoil(self, value: bytes) -> None:
        """Publish an invalid recognition."""
        self._recognitions.send(value)

    def triggers(self) -> list[AlertTrigger]:
        """Return all triggers so far, including repeats."""
        return [decode(AlertTrigger, value) for value in self._alerts.poll()]

    def triggers_from(self, known: int) -> list[AlertTrigger]:
        """Return the triggers after the first ``known`` ones."""
        return [decode(AlertTrigger, value) for value in self._alerts.poll()[known:]]

    def await_triggers(self, count: int, seconds: float = 60) -> list[AlertTrigger]:
        """Return all triggers once there are at least ``count``."""
        wait_until(f"{count} alerts", lambda: len(self.triggers()) >= count, seconds)
        return self.triggers()

    def await_triggered_for(self, wanted: Iterable[Recognition]) -> list[AlertTrigger]:
        """Return all triggers once each of these recognitions has a trigger."""
        ids = {each.id for each in wanted}
        wait_until("alerts for all", lambda: ids <= self.triggered_for())
        return self.triggers()

    def triggered_for(self) -> set[UUID]:
        return {each.recognition.id for each in self.triggers()}

    def close(self) -> None:
        """Close the clients."""
        self._rules.close()
        self._recognitions.close()
        self._provisional.close()
        self._alerts.close()


def seen_at(
    captured_ms: int, plate: str, number: int = 0, *, camera_id: UUID | None = None
) -> Recognition:
    """Return a recognition of a plate. Equal arguments give equal recognitions."""
    made = recognition(number, captured_ms=captured_ms)
    camera = camera_id or made.camera_id
    return msgspec.structs.replace(
        made,
        id=recognition_id(captured_ms, camera, f"{plate} {number}"),
        camera_id=camera,
        plate=plate,
    )
