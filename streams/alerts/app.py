"""Builds the alerts stage, which turns recognitions into candidates, and candidates into alerts."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from common.kafka.compacted import CompactedTopicReader
from common.records.alerts import AlertCandidate, AlertConfig, AlertTrigger, ProvisionalRecognition
from common.records.codec import decode, encode
from common.records.recognitions import Recognition
from common.records.topics import (
    ALERT_CANDIDATES,
    ALERT_DEAD_LETTERS,
    ALERTS,
    CONFIG_ALERTS,
    RECOGNITIONS,
    SIGHTINGS,
    Topic,
)
from common.telemetry.messaging import trace_about
from common.timestamps import now_ms
from streams.alerts.decisions import CandidateHandler
from streams.alerts.matching import RuleMatcher, read_provisional, read_recognition
from streams.alerts.metrics import AlertMetrics
from streams.alerts.rules import RuleStore
from streams.alerts.settings import AlertSettings
from streams.alerts.state import ArrivedCandidate, Expiry
from streams.runtime.alert_cache import AlertSubscription
from streams.runtime.app import Event, StageApp, build_app, published_ms, raw_topic
from streams.runtime.batch_agent import BatchAgent, HandleBatch, add_batch_agent
from streams.runtime.sending import OutgoingMessage, send_all
from streams.runtime.stage_runner import StageRunner, build_runner
from streams.runtime.tables import DurableTable, faust_table

STAGE = "alerts"

LATE_MS: Final = 120_000
"""Alerts that trigger later than this after the capture are marked as late."""
_BATCH_SIZE: Final = 200
_BATCH_WAIT_SECONDS: Final = 0.01
# Maximum number of cooldowns per partition, to limit memory. The oldest cooldowns are removed.
_MAX_COOLDOWNS: Final = 100_000


def build_alerts(settings: AlertSettings) -> StageApp:
    """Return the stage's app with its agents, not yet started."""
    app = build_app(settings, STAGE, stream_buffer_maxsize=_BATCH_SIZE, linger_ms=0)
    runner = build_runner(app, stage=STAGE, dead_letters=raw_topic(app, ALERT_DEAD_LETTERS))
    metrics = AlertMetrics(app.metrics.registry)
    matcher = _matcher(app, metrics, settings)

    async def match(part: Sequence[tuple[Event, Recognition]]) -> None:
        await matcher.handle([(seen, published_ms(event)) for event, seen in part])

    async def match_provisional(part: Sequence[tuple[Event, ProvisionalRecognition]]) -> None:
        reports = [(report, published_ms(event)) for event, report in part]
        await matcher.handle_provisional(reports)

    final = BatchAgent(runner, read_recognition, match, lambda seen: seen.id)
    provisional = BatchAgent(
        runner, read_provisional, match_provisional, lambda report: report.recognition.id
    )
    _add_agent(app, RECOGNITIONS, final.take)
    _add_agent(app, SIGHTINGS, provisional.take)
    _add_agent(app, ALERT_CANDIDATES, _candidates(app, runner, metrics))
    return app


def _add_agent(app: StageApp, topic: Topic, take: HandleBatch) -> None:
    add_batch_agent(
        app, topic, take, stage=STAGE, max_batch=_BATCH_SIZE, within_seconds=_BATCH_WAIT_SECONDS
    )


def _matcher(app: StageApp, metrics: AlertMetrics, settings: AlertSettings) -> RuleMatcher:
    rules = RuleStore(metrics)
    reader = CompactedTopicReader(
        app.settings, CONFIG_ALERTS, AlertConfig, rules.apply, client="alert-rules"
    )
    app.add_dependency(AlertSubscription(reader))
    candidates = raw_topic(app, ALERT_CANDIDATES)

    async def publish(found: Iterable[AlertCandidate]) -> None:
        await send_all(candidates, map(_message, found))

    return RuleMatcher(rules, publish, metrics, early=settings.early_alerts, now_ms=now_ms)


def _candidates(app: StageApp, runner: StageRunner, metrics: AlertMetrics) -> HandleBatch:
    # Changes are written with put(), because Faust's own setter requires a current event.
    table = DurableTable(faust_table(app, "cooldowns"))
    alerts = raw_topic(app, ALERTS)

    async def publish(triggers: Iterable[AlertTrigger]) -> None:
        await send_all(alerts, map(_message, triggers))

    handler = CandidateHandler(table, publish, metrics, late_ms=LATE_MS, now_ms=now_ms)
    expiry = Expiry(table, metrics, limit=_MAX_COOLDOWNS)

    async def decide(part: Sequence[tuple[Event, AlertCandidate]]) -> None:
        # If a partition was reassigned, the new owner decides; see StageRunner.require_next.
        firsts = {event.message.partition: event for event, _ in reversed(part)}
        for event in firsts.values():
            runner.require_next(event)
        await expiry.sweep(firsts, now_ms())
        await handler.handle(
            [ArrivedCandidate(event.message.partition, read) for event, read in part]
        )

    read = partial(decode, AlertCandidate)
    return BatchAgent(runner, read, decide, lambda seen: seen.recognition.id).take


def _message(record: AlertCandidate | AlertTrigger) -> OutgoingMessage:
    key = str(record.alert.alert_id).encode()
    return OutgoingMessage(key, encode(record), trace=trace_about(record.recognition.id))
