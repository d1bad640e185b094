"""The metrics of all programs: names, units and what a rise means."""

from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final


class MetricKind(StrEnum):
    """A metric's behaviour: only grows, goes up and down, or counts by size."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True)
class Metric:
    """One metric. ``rise`` says what it means when it goes up."""

    kind: MetricKind
    name: str
    unit: str
    rise: str
    labels: tuple[str, ...] = ()


_counter = partial(Metric, MetricKind.COUNTER)
_gauge = partial(Metric, MetricKind.GAUGE)
_histogram = partial(Metric, MetricKind.HISTOGRAM)

METRICS: Final[tuple[Metric, ...]] = (
    _gauge("platestream_ingest_cameras", "cameras",
        "This worker took cameras over; state offline: cameras are lost.", labels=("state",)),
    _counter("platestream_ingest_frames_decoded_total", "frames",
        "Cameras deliver; its rate is what the processor pays for."),
    _counter("platestream_ingest_frames_sent_total", "frames",
        "Frames go to recognition; its rate is recognition's load."),
    _counter("platestream_ingest_frames_still_total", "frames",
        "Frames were held back: nothing moved."),
    _counter("platestream_ingest_frames_dropped_total", "frames",
        "Frames were lost; slow: too little processor; buffer, kafka: Kafka is slow or "
        "unavailable; failed: pictures that cannot be coded, or too little memory.",
        labels=("reason",)),
    _counter("platestream_ingest_ticks_sent_total", "records",
        "Seconds without a frame of a camera to send."),
    _counter("platestream_ingest_connections_lost_total", "connections",
        "Cameras or the network to them are unstable.", labels=("fault",)),
    _gauge("platestream_ingest_processes", "processes",
        "More cameras, or some are captured alone because one of them crashed a process."),
    _counter("platestream_ingest_processes_lost_total", "processes",
        "A camera's stream crashed what reads it (camera_quarantined in the log names it), or the"
        " machine ran out of memory."),
    _counter("platestream_ingest_snapshots_total", "pictures",
        "outcome failed or skipped: S3 is slow or unavailable, pictures at the API grow old.",
        labels=("outcome",)),
    _counter("platestream_ingest_config_faults_total", "records",
        "Camera configurations cannot be read: releases or secret keys do not fit."),
    _gauge("platestream_ingest_waiting_bytes", "bytes", "Kafka takes fewer frames than come."),
    _histogram("platestream_ingest_send_delay_seconds", "seconds",
        "From capture to hand-over to Kafka takes longer: too little processor."),
    _gauge("platestream_ingest_camera_state", "cameras",
        "1: this is the camera's state; of camera other so many have it.",
        labels=("camera", "state")),
    _gauge("platestream_ingest_camera_frame_age_seconds", "seconds",
        "The camera's last frame was decoded so long ago; of camera other the longest.",
        labels=("camera",)),
    _counter("platestream_stream_messages_released_total", "messages",
        "The stage gets on; flat while there is lag: it stands still."),
    _counter("platestream_stream_dead_letters_total", "messages",
        "Messages cannot be handled; unknown_record_version: releases do not fit.",
        labels=("code",)),
    _counter("platestream_stream_transient_failures_total", "tries",
        "A neighbour of the stage (Kafka, S3, ClickHouse) is unavailable or slow."),
    _gauge("platestream_stream_lag_messages", "messages",
        "More comes in than the stage handles, or it stands still.", labels=("topic", "partition")),
    _counter("platestream_stream_messages_gone_total", "messages",
        "A stage that was away for long found that Kafka's retention had taken what it had not "
        "read; of frames: their vehicles are lost.", labels=("topic", "partition")),
    _counter("platestream_recognition_frames_total", "frames",
        "Frames are taken from Kafka; late: they waited for long, after an outage or for a "
        "processor; stale: between those that are late, left out to catch up; over_share: too "
        "little for who sends most, whose frames are thinned out; refused: pictures cannot be "
        "read.", labels=("outcome",)),
    _counter("platestream_recognition_camera_frames_total", "frames",
        "A camera's frames; still: nothing moved; read: looked at; slow, unsent, lost, stale, "
        "surplus: too little processor, or Kafka; failed, refused: bad pictures.",
        labels=("camera", "outcome")),
    _counter("platestream_recognition_camera_plates_total", "plates",
        "Plates in a camera's frames: read (readings), small, unread, or outside of its zones.",
        labels=("camera", "outcome")),
    _counter("platestream_recognition_camera_passes_total", "passes",
        "Vehicles of a camera: reported, repeated, unsure, or fragments of another one.",
        labels=("camera", "outcome")),
    _histogram("platestream_recognition_frame_seconds", "seconds",
        "A process takes longer for one frame: larger frames, more plates, a busy processor."),
    _histogram("platestream_recognition_frame_age_seconds", "seconds",
        "From capture to published readings takes longer: too little processor."),
    _counter("platestream_recognition_tracks_total", "tracks",
        "Vehicles pass; unsure: their plates cannot be read well enough; silent: they stay.",
        labels=("outcome",)),
    _histogram("platestream_recognition_pass_age_seconds", "seconds",
        "From a vehicle's last reading to its published recognition takes longer."),
    _counter("platestream_recognition_frames_fetched_total", "frames",
        "Frames of passes were not in memory; gone: retention took them, images are missing.",
        labels=("outcome",)),
    _gauge("platestream_recognition_processes_replaced", "processes",
        "Recogniser processes hang, crash or grow too large."),
    _counter("platestream_recognition_images_total", "passes",
        "Passes are shown; late: S3 took the images after a while; refused: it is full; lost: it "
        "was away for longer than frames are kept.", labels=("outcome",)),
    _gauge("platestream_recognition_pending_images", "passes",
        "S3 is away: images wait, recognitions name them all the same."),
    _gauge("platestream_recognition_gap_frames", "frames",
        "Recognition was away, or too slow: these are left to be read after fresh ones.",
        labels=("partition",)),
    _gauge("platestream_recognition_gap_age_seconds", "seconds",
        "Fresh frames leave too little time for late ones; after 15 minutes they are lost.",
        labels=("partition",)),
    _counter("platestream_webhooks_attempts_total", "attempts",
        "Events are sent; retrying: receivers are unavailable or slow; dead: deliveries were "
        "given up, see GET /api/webhooks/{id}/deliveries.", labels=("channel", "outcome")),
    _counter("platestream_webhooks_held_back_total", "messages",
        "People get more e-mails or messages in an hour than the limits allow; each one that was "
        "not sent is listed at its alert.", labels=("channel",)),
    _histogram("platestream_webhooks_attempt_seconds", "seconds", "Receivers answer more slowly."),
    _histogram("platestream_webhooks_event_age_seconds", "seconds",
        "From an event to its receipt takes longer: retries, slow receivers, few processors."),
    _gauge("platestream_webhooks_pending_deliveries", "deliveries",
        "Receivers are unavailable: deliveries wait for their next try, in memory and in Kafka."),
    _gauge("platestream_webhooks_waiting_deliveries", "deliveries",
        "More deliveries are due than receivers take."),
    _gauge("platestream_webhooks_owner_limit_ratio", "ratio",
        "An owner's events gave 0.8 or more of its deliveries; 1: others were left out.",
        labels=("owner", "limit")),
    _gauge("platestream_alerts_rules", "alerts",
        "Owners make alerts; those switched off count too."),
    _counter("platestream_alerts_rule_faults_total", "alerts",
        "Alerts cannot be evaluated: their time zone is not known to this process."),
    _counter("platestream_alerts_recognitions_total", "recognitions",
        "Recognitions are held against the rules."),
    _counter("platestream_alerts_decisions_total", "candidates",
        "fired: alerts fire; held_back: cooldowns hold; repeated: work is done again after a "
        "crash; too_old: recognitions come after too many newer ones to be reported; confirmed, "
        "corrected, withdrawn: what fired early is resolved (many corrected or withdrawn: plates "
        "are misread at first); settled: there was nothing left to report.", labels=("outcome",)),
    _histogram("platestream_alerts_trigger_age_seconds", "seconds",
        "From a recognition on its topic to its alert on its own takes longer."),
    _gauge("platestream_alerts_cooldowns", "cooldowns",
        "More plates or alerts have fired within a week; memory grows with it."),
    _gauge("platestream_mqtt_connected", "connections",
        "1: the MQTT broker is there; 0: it is unavailable, or refuses the connection."),
    _counter("platestream_mqtt_messages_total", "messages",
        "The MQTT broker has acknowledged messages; retained: cameras and their state, and what "
        "is removed; image: URLs of images.", labels=("kind",)),
    _counter("platestream_mqtt_refused_total", "messages",
        "The MQTT broker refuses messages (rules, quotas, size): events wait."),
    _histogram("platestream_mqtt_event_age_seconds", "seconds",
        "From an event on its Kafka topic to the MQTT broker takes longer."),
    _gauge("platestream_relay_rows_set_aside", "rows",
        "Kafka can never take a row of the outbox: config_outbox says why (error)."),
    _gauge("platestream_relay_rows_of_replays", "rows",
        "Past events are being sent again; configuration goes before them."),
    _gauge("platestream_api_owner_limit_ratio", "ratio",
        "An owner used 0.8 or more of a limit within ten minutes; 1: calls were refused, or the "
        "next one is.", labels=("owner", "limit")),
    _gauge("platestream_api_camera_usual_ratio", "ratio",
        "A camera's share of its usual hour, where that is under a half: it comes back.",
        labels=("camera",)),
    _counter("platestream_api_audit_entries_lost_total", "acts",
        "PostgreSQL was away, or slow, for so long that searches found no room to wait for the "
        "audit log; entries `audit.incomplete` say how many."),
    _counter("platestream_traces_spans_total", "spans",
        "made: traces are taken; failed: PLATESTREAM_TRACES_ENDPOINT is away. More made than sent"
        " and failed: spans come faster than they leave, and some are dropped.",
        labels=("outcome",)),
)  # fmt: skip
_BY_NAME: Final = {metric.name: metric for metric in METRICS}


def described(name: str) -> Metric:
    """Return the description of a metric.

    Raises:
        KeyError: it is not in the catalogue.
    """
    return _BY_NAME[name]
