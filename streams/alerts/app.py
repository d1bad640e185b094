"""The alerts stage: recognitions, and passes that are not over -> candidates -> alerts."""

from collections.abc import Iterable, Sequence
from typing import Any

from contracts.alert_records import AlertCandidate, AlertTrigger
from contracts.alerts import AlertConfig
from contracts.moments import now_ms
from contracts.records import decode, encode
from contracts.topic_feed import TopicFeed
from contracts.topics import (
    ALERT_CANDIDATES,
    ALERT_DEAD_LETTERS,
    ALERTS,
    CONFIG_ALERTS,
    RECOGNITIONS,
    SIGHTINGS,
    Topic,
)
from streams.alerts.cooldowns import Cooldowns
from streams.alerts.forgetting import Forgetting
from streams.alerts.matching import (
    Matching,
    Published,
    Sighted,
    read_recognition,
    read_sighting,
)
from streams.alerts.metrics import AlertMetrics
from streams.alerts.remembered import Arrival
from streams.alerts.rules import RuleFeed, RuleKeeper
from streams.alerts.settings import AlertSettings
from streams.common.app import Event, StageApp, build_app, published_ms, raw_topic
from streams.common.batch_agent import BatchAgent, Take, add_batch_agent
from streams.common.guard import Guard, build_guard
from streams.common.sending import send_all
from streams.common.tables import DurableTable, faust_table

STAGE = "alerts"


def build_alerts(settings: AlertSettings) -> StageApp:
    """Return the stage's app with its agents, not yet started."""
    app = build_app(settings, STAGE, stream_buffer_maxsize=settings.alert_batch_size, linger_ms=0)
    guard = build_guard(app, stage=STAGE, dead_letters=raw_topic(app, ALERT_DEAD_LETTERS))
    metrics = AlertMetrics(app.metrics.registry)
    matching = _matching(app, metrics, settings)
    _add_agent(app, settings, RECOGNITIONS, _recognitions(guard, matching))
    _add_agent(app, settings, SIGHTINGS, _sightings(guard, matching))
    _add_agent(app, settings, ALERT_CANDIDATES, _cooldowns(app, guard, metrics, settings))
    return app


def _add_agent(app: StageApp, settings: AlertSettings, topic: Topic, take: Take) -> None:
    add_batch_agent(
        app,
        topic,
        take,
        stage=STAGE,
        most=settings.alert_batch_size,
        within_seconds=settings.alert_batch_wait_seconds,
    )


def _matching(app: StageApp, metrics: AlertMetrics, settings: AlertSettings) -> Matching:
    keeper = RuleKeeper(metrics)
    feed = TopicFeed(app.settings, CONFIG_ALERTS, AlertConfig, keeper.post, client="alert-rules")
    app.add_dependency(RuleFeed(feed))
    candidates = raw_topic(app, ALERT_CANDIDATES)

    async def publish(found: Iterable[AlertCandidate]) -> None:
        await send_all(candidates, ((_key(each.alert), encode(each)) for each in found))

    return Matching(keeper, publish, metrics, early=settings.early_alerts, now_ms=now_ms)


def _recognitions(guard: Guard, matching: Matching) -> Take:
    async def match(part: Sequence[tuple[Event, Any]]) -> None:
        await matching.handle([Published(read, published_ms(event)) for event, read in part])

    return BatchAgent(guard, read_recognition, match).take


def _sightings(guard: Guard, matching: Matching) -> Take:
    async def match(part: Sequence[tuple[Event, Any]]) -> None:
        told = [Sighted(read, published_ms(event)) for event, read in part]
        await matching.handle_sightings(told)

    return BatchAgent(guard, read_sighting, match).take


def _cooldowns(app: StageApp, guard: Guard, metrics: AlertMetrics, settings: AlertSettings) -> Take:
    # Written outside of Faust's own way, by put(): a batch has no event at hand.
    table = DurableTable(faust_table(app, "cooldowns"))
    alerts = raw_topic(app, ALERTS)

    async def publish(fired: Iterable[AlertTrigger]) -> None:
        await send_all(alerts, ((_key(each.alert), encode(each)) for each in fired))

    late_ms = round(settings.alert_late_seconds * 1000)
    cooldowns = Cooldowns(table, publish, metrics, late_ms=late_ms, now_ms=now_ms)
    forgetting = Forgetting(table, metrics, most=settings.alert_cooldowns)

    async def settle(part: Sequence[tuple[Event, AlertCandidate]]) -> None:
        # What was taken away from this worker, its next owner decides; see Guard.require_next.
        firsts = {event.message.partition: event for event, _ in reversed(part)}
        for event in firsts.values():
            guard.require_next(event)
        await forgetting.sweep(firsts, now_ms())
        await cooldowns.handle([Arrival(event.message.partition, read) for event, read in part])

    return BatchAgent(guard, _read_candidate, settle).take


def _read_candidate(value: bytes) -> AlertCandidate:
    return decode(AlertCandidate, value)


def _key(alert: AlertConfig) -> bytes:
    return str(alert.alert_id).encode()
