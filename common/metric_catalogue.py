"""The metrics of all programs: names, units and what a rise means."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from common.metric_names import MetricName


class MetricKind(StrEnum):
    """A metric's behaviour: only grows, goes up and down, or counts by size."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One metric. ``rise`` says what it means when it goes up."""

    name: MetricName
    kind: MetricKind
    unit: str
    rise: str
    labels: tuple[str, ...] = ()


METRICS: Final[tuple[Metric, ...]] = (
    Metric(
        name="platestream_ingest_cameras",
        kind=MetricKind.GAUGE,
        unit="cameras",
        rise="This worker took cameras over; state offline: cameras are lost.",
        labels=("state",),
    ),
    Metric(
        name="platestream_ingest_frames_decoded_total",
        kind=MetricKind.COUNTER,
        unit="frames",
        rise="Cameras deliver; its rate is what the processor pays for.",
    ),
    Metric(
        name="platestream_ingest_frames_sent_total",
        kind=MetricKind.COUNTER,
        unit="frames",
        rise="Frames go to recognition; its rate is recognition's load.",
    ),
    Metric(
        name="platestream_ingest_frames_still_total",
        kind=MetricKind.COUNTER,
        unit="frames",
        rise="Frames were held back because nothing moved.",
    ),
    Metric(
        name="platestream_ingest_frames_dropped_total",
        kind=MetricKind.COUNTER,
        unit="frames",
        rise="Frames were lost; slow: too little processor; buffer, kafka: Kafka is slow or "
        "unavailable; failed: pictures that cannot be coded, or too little memory.",
        labels=("reason",),
    ),
    Metric(
        name="platestream_ingest_ticks_sent_total",
        kind=MetricKind.COUNTER,
        unit="records",
        rise="Seconds in which a camera had no frame to send.",
    ),
    Metric(
        name="platestream_ingest_connections_lost_total",
        kind=MetricKind.COUNTER,
        unit="connections",
        rise="Cameras or the network to them are unstable.",
        labels=("fault",),
    ),
    Metric(
        name="platestream_ingest_processes",
        kind=MetricKind.GAUGE,
        unit="processes",
        rise="More cameras, or some are captured alone because one of them crashed a process.",
    ),
    Metric(
        name="platestream_ingest_processes_lost_total",
        kind=MetricKind.COUNTER,
        unit="processes",
        rise="A camera's stream crashed what reads it (camera_quarantined in the log names it), or "
        "the machine ran out of memory.",
    ),
    Metric(
        name="platestream_ingest_snapshots_total",
        kind=MetricKind.COUNTER,
        unit="pictures",
        rise="outcome failed or skipped: S3 is slow or unavailable, pictures at the API grow old.",
        labels=("outcome",),
    ),
    Metric(
        name="platestream_ingest_config_faults_total",
        kind=MetricKind.COUNTER,
        unit="records",
        rise="Camera configurations cannot be read: releases or secret keys do not fit.",
    ),
    Metric(
        name="platestream_ingest_waiting_bytes",
        kind=MetricKind.GAUGE,
        unit="bytes",
        rise="Kafka takes frames more slowly than they come.",
    ),
    Metric(
        name="platestream_ingest_send_delay_seconds",
        kind=MetricKind.HISTOGRAM,
        unit="seconds",
        rise="From capture to hand-over to Kafka takes longer: too little processor.",
    ),
    Metric(
        name="platestream_stream_messages_released_total",
        kind=MetricKind.COUNTER,
        unit="messages",
        rise="The stage gets on; flat while there is lag: it stands still.",
    ),
    Metric(
        name="platestream_stream_dead_letters_total",
        kind=MetricKind.COUNTER,
        unit="messages",
        rise="Messages cannot be handled; unknown_record_version: releases do not fit.",
        labels=("code",),
    ),
    Metric(
        name="platestream_stream_transient_failures_total",
        kind=MetricKind.COUNTER,
        unit="tries",
        rise="A neighbour of the stage (Kafka, S3, ClickHouse) is unavailable or slow.",
    ),
    Metric(
        name="platestream_stream_lag_messages",
        kind=MetricKind.GAUGE,
        unit="messages",
        rise="More comes in than the stage handles, or it stands still.",
        labels=("topic", "partition"),
    ),
    Metric(
        name="platestream_stream_messages_gone_total",
        kind=MetricKind.COUNTER,
        unit="messages",
        rise="A stage that was away for long found that Kafka's retention had taken what it had "
        "not read; of frames: their vehicles are lost.",
        labels=("topic", "partition"),
    ),
    Metric(
        name="platestream_recognition_frames_total",
        kind=MetricKind.COUNTER,
        unit="frames",
        rise="Frames are taken from Kafka; late: they waited for long, after an outage or for a "
        "processor; stale: between those that are late, left out to catch up; "
        "over_share: too little for who sends most, whose frames are thinned out; "
        "refused: pictures cannot be read.",
        labels=("outcome",),
    ),
    Metric(
        name="platestream_recognition_frame_seconds",
        kind=MetricKind.HISTOGRAM,
        unit="seconds",
        rise="A process takes longer for one frame: larger frames, more plates, a busy processor.",
    ),
    Metric(
        name="platestream_recognition_frame_age_seconds",
        kind=MetricKind.HISTOGRAM,
        unit="seconds",
        rise="From capture to published readings takes longer: too little processor.",
    ),
    Metric(
        name="platestream_recognition_tracks_total",
        kind=MetricKind.COUNTER,
        unit="tracks",
        rise="Vehicles pass; unsure: their plates cannot be read well enough; silent: they stay.",
        labels=("outcome",),
    ),
    Metric(
        name="platestream_recognition_pass_age_seconds",
        kind=MetricKind.HISTOGRAM,
        unit="seconds",
        rise="From a vehicle's last reading to its published recognition takes longer.",
    ),
    Metric(
        name="platestream_recognition_frames_fetched_total",
        kind=MetricKind.COUNTER,
        unit="frames",
        rise="Frames of passes were not in memory; gone: retention took them, images are missing.",
        labels=("outcome",),
    ),
    Metric(
        name="platestream_recognition_processes_replaced",
        kind=MetricKind.GAUGE,
        unit="processes",
        rise="Recogniser processes hang, crash or grow too large.",
    ),
    Metric(
        name="platestream_recognition_images_total",
        kind=MetricKind.COUNTER,
        unit="passes",
        rise="Passes are shown; late: S3 took the images after a while; refused: it is full; lost: "
        "it was away for longer than frames are kept.",
        labels=("outcome",),
    ),
    Metric(
        name="platestream_recognition_pending_images",
        kind=MetricKind.GAUGE,
        unit="passes",
        rise="S3 is away: images wait, recognitions name them all the same.",
    ),
    Metric(
        name="platestream_webhooks_attempts_total",
        kind=MetricKind.COUNTER,
        unit="attempts",
        rise="Events are sent; retrying: receivers are unavailable or slow; dead: deliveries "
        "were given up, see GET /api/webhooks/{id}/deliveries.",
        labels=("channel", "outcome"),
    ),
    Metric(
        name="platestream_webhooks_held_back_total",
        kind=MetricKind.COUNTER,
        unit="messages",
        rise="People get more e-mails or messages in an hour than the limits allow; each one that "
        "was not sent is listed at its alert.",
        labels=("channel",),
    ),
    Metric(
        name="platestream_webhooks_attempt_seconds",
        kind=MetricKind.HISTOGRAM,
        unit="seconds",
        rise="Receivers answer more slowly.",
    ),
    Metric(
        name="platestream_webhooks_event_age_seconds",
        kind=MetricKind.HISTOGRAM,
        unit="seconds",
        rise="From an event to its receipt takes longer: retries, slow receivers, few processors.",
    ),
    Metric(
        name="platestream_webhooks_pending_deliveries",
        kind=MetricKind.GAUGE,
        unit="deliveries",
        rise="Receivers are unavailable: deliveries wait for their next try, in memory and in "
        "Kafka.",
    ),
    Metric(
        name="platestream_webhooks_waiting_deliveries",
        kind=MetricKind.GAUGE,
        unit="deliveries",
        rise="More deliveries are due than receivers take.",
    ),
    Metric(
        name="platestream_webhooks_owner_limit_ratio",
        kind=MetricKind.GAUGE,
        unit="ratio",
        rise="An owner's events gave 0.8 or more of its deliveries; 1: others were left out.",
        labels=("owner", "limit"),
    ),
    Metric(
        name="platestream_alerts_rules",
        kind=MetricKind.GAUGE,
        unit="alerts",
        rise="Owners make alerts; those that are switched off count too.",
    ),
    Metric(
        name="platestream_alerts_rule_faults_total",
        kind=MetricKind.COUNTER,
        unit="alerts",
        rise="Alerts cannot be evaluated: their time zone is not known to this process.",
    ),
    Metric(
        name="platestream_alerts_recognitions_total",
        kind=MetricKind.COUNTER,
        unit="recognitions",
        rise="Recognitions are held against the rules.",
    ),
    Metric(
        name="platestream_alerts_decisions_total",
        kind=MetricKind.COUNTER,
        unit="candidates",
        rise="fired: alerts fire; held_back: cooldowns hold; repeated: work is done again after a "
        "crash; too_old: recognitions come after too many newer ones to be reported; confirmed, "
        "corrected, withdrawn: what fired early is resolved (many corrected or withdrawn: plates "
        "are misread at first); settled: there was nothing left to report.",
        labels=("outcome",),
    ),
    Metric(
        name="platestream_alerts_trigger_age_seconds",
        kind=MetricKind.HISTOGRAM,
        unit="seconds",
        rise="From a recognition on its topic to its alert on its own takes longer.",
    ),
    Metric(
        name="platestream_alerts_cooldowns",
        kind=MetricKind.GAUGE,
        unit="cooldowns",
        rise="More plates or alerts have fired within a week; memory grows with it.",
    ),
    Metric(
        name="platestream_mqtt_connected",
        kind=MetricKind.GAUGE,
        unit="connections",
        rise="1: the MQTT broker is there; 0: it is unavailable, or refuses the connection.",
    ),
    Metric(
        name="platestream_mqtt_messages_total",
        kind=MetricKind.COUNTER,
        unit="messages",
        rise="The MQTT broker has acknowledged messages; retained: cameras and their state, and "
        "what is taken away; picture: pictures of cameras.",
        labels=("kind",),
    ),
    Metric(
        name="platestream_mqtt_refused_total",
        kind=MetricKind.COUNTER,
        unit="messages",
        rise="The MQTT broker refuses messages, which wait: its access rules or quotas.",
    ),
    Metric(
        name="platestream_mqtt_pictures_total",
        kind=MetricKind.COUNTER,
        unit="pictures",
        rise="Pictures come to the MQTT broker (shown), or are taken away there (taken_away: gone "
        "from S3, or no longer asked for; missing: never stored; too_large, refused: too many "
        "bytes for the settings, or for the broker).",
        labels=("outcome",),
    ),
    Metric(
        name="platestream_mqtt_event_age_seconds",
        kind=MetricKind.HISTOGRAM,
        unit="seconds",
        rise="From an event on its Kafka topic to the MQTT broker takes longer.",
    ),
    Metric(
        name="platestream_relay_rows_set_aside",
        kind=MetricKind.GAUGE,
        unit="rows",
        rise="Kafka can never take a row of the outbox: config_outbox says why (error).",
    ),
    Metric(
        name="platestream_relay_rows_of_replays",
        kind=MetricKind.GAUGE,
        unit="rows",
        rise="Past events are being sent again; configuration goes before them.",
    ),
    Metric(
        name="platestream_api_owner_limit_ratio",
        kind=MetricKind.GAUGE,
        unit="ratio",
        rise="An owner used 0.8 or more of a limit within ten minutes; 1: calls were refused, or "
        "the next one is.",
        labels=("owner", "limit"),
    ),
    Metric(
        name="platestream_api_audit_entries_lost_total",
        kind=MetricKind.COUNTER,
        unit="acts",
        rise="PostgreSQL was away, or slow, for so long that searches found no room to wait for "
        "the audit log; entries `audit.incomplete` say how many.",
    ),
)


def described(name: MetricName) -> Metric:
    """Return the description of a metric."""
    return next(metric for metric in METRICS if metric.name == name)
