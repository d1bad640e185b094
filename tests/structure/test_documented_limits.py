"""The limits in the documentation match the code."""

import re
from collections.abc import Iterator

import pytest

from api.alerts.backtest import MAX_ROWS, MAX_SECONDS, MAX_SHOWN
from api.alerts.notifications import MAX_ADDRESSES, MAX_DESTINATIONS, MAX_NOTIFICATIONS
from api.cameras.funnel import MAX_HOURS
from api.cameras.schemas import MAX_POINTS, MAX_ZONES
from api.deliveries.service import MAX_REPLAYED
from api.exports.routes import MAX_ROWS as MAX_EXPORTED
from api.limits.body_budget import BODY_MEBIBYTES
from api.limits.limiter import IMAGES_PER_REQUEST, LOG_IN_PER_MINUTE
from api.limits.owner_limits import OwnerLimit, installation_limits
from api.middleware.bodies import JSON_BODY_SECONDS
from api.middleware.connections import WRITE_SECONDS
from api.people.invitations import INVITATION_HOURS
from api.pictures.service import MAX_WIDTH_PX, MIN_WIDTH_PX
from api.security.credentials import MAX_PASSWORD_CHARACTERS, MIN_PASSWORD_CHARACTERS
from api.settings import ApiSettings, OwnerLimitSettings
from api.validation.fields import PLATES_PER_ALERT
from common.records.webhooks import MAX_HEADERS
from common.settings import load_settings
from ingest.probe import PROBE_SECONDS
from streams.webhooks.app import AUTO_DISABLE_FAILURES
from streams.webhooks.settings import WebhooksSettings
from tools.scripts.settings_docs import CLONE, settings_classes

DOCS = CLONE / "docs"


def _default(name: str, settings: type[ApiSettings | WebhooksSettings] = ApiSettings) -> str:
    return f"{settings.model_fields[name].default:,}"


def _number(name: str) -> int:
    return int(ApiSettings.model_fields[name].default)


def _size(name: str) -> str:
    """Return the size of an account limit that has no setting."""
    return f"{_SIZES[OwnerLimit(name)]:,}"


_SIZES = installation_limits(load_settings(OwnerLimitSettings))
LIMITS = [
    ("api/errors.md", f"| all | {_default('rate_limit_per_minute')} |"),
    (
        "api/errors.md",
        f"| of these, `POST /api/recognize` | {_default('rate_limit_recognize_per_minute')} |",
    ),
    (
        "api/errors.md",
        f"separately | {IMAGES_PER_REQUEST * _number('rate_limit_per_minute'):,} |",
    ),
    ("api/errors.md", f"sessions | {_default('requests_per_minute_per_owner')} * |"),
    ("api/errors.md", f"minute | {_default('image_calls_per_minute_per_owner')} * |"),
    ("api/errors.md", f"| images per minute | {_size('pictures_per_minute')} |"),
    ("api/errors.md", f"| cameras | {_default('cameras_per_owner')} * |"),
    ("api/errors.md", f"`sampleFps` | {_default('frames_per_second_per_owner')} * |"),
    ("api/errors.md", f"| alerts | {_size('alerts')} * |"),
    ("api/errors.md", f"| webhooks | {_size('webhooks')} * |"),
    ("api/errors.md", f"| API keys | {_size('api_keys')} * |"),
    ("api/errors.md", f"invitations | {_size('people')} |"),
    ("api/errors.md", f"| exports per minute | {_size('exports_per_minute')} |"),
    ("api/errors.md", f"| queued replays | {_size('replays')} |"),
    ("api/errors.md", f"worker | {_default('deliveries_per_minute_per_owner')} * |"),
    ("api/errors.md", f"one recognition | {_size('alert_destinations')} |"),
    ("api/errors.md", f"| open event streams | {_size('streams')} † |"),
    ("api/errors.md", f"| concurrent image calls | {_size('image_calls_at_once')} † |"),
    ("api/errors.md", f"| concurrent exports | {_size('exports_at_once')} † |"),
    ("api/errors.md", f"| request bodies in memory | {_size('body_mebibytes')} MiB † |"),
    ("api/errors.md", f"at most {BODY_MEBIBYTES} MiB per API process"),
    ("api/errors.md", f"an invitation | {LOG_IN_PER_MINUTE} per minute |"),
    (
        "api/errors.md",
        f"process ({_default('api_max_connections')} in total) | "
        f"{_number('api_max_connections') // 4} |",
    ),
    ("api/errors.md", f"nothing of a response for {WRITE_SECONDS:g} s"),
    ("api/cameras.md", f"for at most {PROBE_SECONDS:g} s"),
    ("api/cameras.md", f"at most {MAX_ZONES}, of 3 to {MAX_POINTS} points"),
    ("api/cameras.md", f"`to`, at most {MAX_HOURS}."),
    ("api/alerts.md", f"at most {PLATES_PER_ALERT} (409"),
    (
        "api/alerts.md",
        f"at most {MAX_NOTIFICATIONS}, with at most {MAX_ADDRESSES} addresses in each and "
        f"{MAX_DESTINATIONS} addresses and URLs in total",
    ),
    ("api/alerts.md", f"at most {MAX_ROWS:,} recognitions"),
    ("api/alerts.md", f"for at most {MAX_SECONDS:g} seconds"),
    ("api/alerts.md", f"first {MAX_SHOWN} are listed"),
    ("api/alerts.md", f"at most {_default('messages_per_address_per_hour')} messages"),
    ("api/webhooks.md", f"at most {MAX_HEADERS}, visible ASCII"),
    ("api/webhooks.md", f"at most {MAX_REPLAYED:,}."),
    (
        "webhooks.md",
        f"within {WebhooksSettings.model_fields['webhook_timeout_seconds'].default:g} s",
    ),
    ("webhooks.md", f"{AUTO_DISABLE_FAILURES} failed attempts"),
    ("api/recognitions.md", f"1 to {MAX_EXPORTED:,} rows"),
    ("api/recognitions.md", f"({MIN_WIDTH_PX} to {MAX_WIDTH_PX})"),
    ("api/people.md", f"for {INVITATION_HOURS} hours"),
    ("api/people.md", f"({MIN_PASSWORD_CHARACTERS} to {MAX_PASSWORD_CHARACTERS:,} characters"),
    ("api/authentication.md", f"and {JSON_BODY_SECONDS:g} s to come"),
    ("api/authentication.md", f"at most {_size('api_keys')} keys"),
    ("api/audit.md", f"({_default('audit_retention_days')}, at least 30)"),
]


@pytest.mark.parametrize(("page", "text"), LIMITS)
def test_a_page_names_the_limit_of_the_code(page: str, text: str) -> None:
    assert text in " ".join((DOCS / page).read_text(encoding="utf-8").split())


def test_no_line_is_written_twice() -> None:
    """A duplicate line is usually an old sentence that its correction did not replace."""
    pages = (DOCS / "api").glob("*.md")
    for page in (*pages, DOCS / "webhooks.md", DOCS / "operations.md"):
        lines = [line[:60] for line in page.read_text(encoding="utf-8").splitlines()]
        prose = [line for line in lines if re.match(r"[A-Z][a-z]", line) and len(line) == 60]
        assert len(prose) == len(set(prose)), page.name


def _named_defaults() -> Iterator[tuple[str, str, float]]:
    for page in DOCS.rglob("*.md"):
        text = page.read_text(encoding="utf-8") if page.name != "settings.md" else ""
        # Sizes in units other than the setting's unit cannot be compared here.
        for name, number in re.findall(r"`PLATESTREAM_(\w+)`,? \((\d[\d,.]*)[),;]", text):
            yield page.name, name.lower(), float(number.strip(",.").replace(",", ""))


def test_a_number_next_to_a_setting_is_its_default() -> None:
    defaults: dict[str, set[object]] = {}
    for settings in settings_classes():
        for name, field in settings.model_fields.items():
            defaults.setdefault(name, set()).add(field.default)
    found = list(_named_defaults())

    assert found
    assert [each for each in found if each[2] not in defaults[each[1]]] == []
