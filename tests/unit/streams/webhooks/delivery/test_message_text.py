"""The text of alert notifications."""

import msgspec

from common.records.alerts import TriggerPhase
from common.records.deliveries import Delivery
from streams.webhooks.delivery.message_text import message_fields, message_subject
from tests.records import alert
from tests.unit.streams.webhooks.builders import trigger_deliveries, trigger_in_phase, webhook


def _delivery(**names: str) -> Delivery:
    trigger = trigger_in_phase(TriggerPhase.FINAL)
    rule = alert(1, plates=tuple(names), plate_names=names)
    [made] = trigger_deliveries(msgspec.structs.replace(trigger, alert=rule), [webhook()])
    return made


def test_the_name_of_a_plate_follows_it() -> None:
    bare = _delivery()
    assert bare.trigger is not None
    seen = bare.trigger.recognition
    named = _delivery(**{seen.plate: "Courier\nof the day"})

    assert message_subject(bare) == f"alert 1: {seen.plate} at {seen.camera_name}"
    assert (
        message_subject(named)
        == f"alert 1: {seen.plate} (Courier of the day) at {seen.camera_name}"
    )
    assert ("Plate", seen.plate) in message_fields(bare, "", None)
    assert ("Plate", f"{seen.plate} (Courier\nof the day)") in message_fields(named, "", None)
