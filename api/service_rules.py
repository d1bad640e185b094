"""What the settings say, as the services take it."""

from dataclasses import dataclass
from datetime import timedelta

from api.cameras.service import CameraRules
from api.limits import LimitRules
from api.live.service import StreamRules
from api.live.slots import StreamBounds
from api.sessions.attempts import AttemptRules
from api.settings import ApiSettings
from api.validation import ValidationRules
from contracts.outbound import IpNetwork, OutboundRules
from contracts.stream_urls import stream_url_rules

_LEASE_MARGIN_SECONDS = 5.0


@dataclass(frozen=True, repr=False)
class ServiceRules:
    """What an operator decides. Shows nothing in logs: it holds the installation's secret keys.

    ``image_lease`` is longer than any image call takes. Images are shown for ``image_retention``,
    None: always.
    """

    secret_keys: str
    validation: ValidationRules
    cameras: CameraRules
    limits: LimitRules
    attempts: AttemptRules
    streams: StreamRules
    session_lifetime: timedelta
    image_lease: timedelta
    image_retention: timedelta | None
    alerts_per_owner: int
    webhooks_per_owner: int
    api_keys_per_owner: int
    demo_enabled: bool
    trusted_proxies: tuple[IpNetwork, ...]


def service_rules(settings: ApiSettings) -> ServiceRules:
    """Return the rules of an API process."""
    return ServiceRules(
        secret_keys=settings.secret_key.get_secret_value(),
        validation=_validation_rules(settings),
        cameras=_camera_rules(settings),
        limits=_limit_rules(settings),
        attempts=_attempt_rules(settings),
        streams=_stream_rules(settings),
        session_lifetime=timedelta(hours=settings.session_hours),
        image_lease=_lease(settings),
        image_retention=timedelta(days=settings.image_retention_days) or None,
        alerts_per_owner=settings.alerts_per_owner,
        webhooks_per_owner=settings.webhooks_per_owner,
        api_keys_per_owner=settings.api_keys_per_owner,
        demo_enabled=settings.demo_enabled,
        trusted_proxies=settings.trusted_proxies,
    )


def _camera_rules(settings: ApiSettings) -> CameraRules:
    return CameraRules(
        take_seconds=settings.camera_take_seconds,
        stale_ms=settings.camera_status_stale_seconds * 1000,
        per_owner=settings.cameras_per_owner,
        subscription_credits=settings.camera_subscription_credits,
    )


def _validation_rules(settings: ApiSettings) -> ValidationRules:
    return ValidationRules(
        streams=stream_url_rules(settings),
        outbound=OutboundRules(settings.webhook_allowed_networks),
        plates_per_alert=settings.plates_per_alert,
    )


def _attempt_rules(settings: ApiSettings) -> AttemptRules:
    return AttemptRules(
        per_minute=settings.login_attempts_per_minute,
        per_address_per_minute=settings.login_attempts_per_address_per_minute,
        per_account_per_hour=settings.login_attempts_per_account_per_hour,
    )


def _limit_rules(settings: ApiSettings) -> LimitRules:
    return LimitRules(
        per_minute=settings.rate_limit_per_minute,
        recognize_per_minute=settings.rate_limit_recognize_per_minute,
        demo_per_minute=settings.rate_limit_demo_per_minute,
        block_seconds=settings.rate_limit_block_seconds,
    )


def _stream_rules(settings: ApiSettings) -> StreamRules:
    return StreamRules(
        heart_beat_seconds=settings.stream_heart_beat_seconds,
        bounds=StreamBounds(
            per_credential=settings.streams_per_key,
            per_owner=settings.streams_per_owner,
            in_all=settings.streams_per_process,
        ),
    )


def _lease(settings: ApiSettings) -> timedelta:
    # A call waits for a process and then for the reading, each at most the time-out.
    seconds = 2 * settings.recognition_timeout_seconds + _LEASE_MARGIN_SECONDS
    return timedelta(seconds=seconds)
