"""Defines the resources of the API, with each method written once for both clients.

Request bodies and results are dictionaries, which match the API's JSON.
``platestream_client.models`` contains the types, and the OpenAPI description explains each field.
"""

from datetime import datetime
from typing import Generic

from platestream_client.calls import (
    PAGE,
    Call,
    Id,
    Pages,
    Picture,
    Resource,
    Way,
    call,
    field_of,
    nothing,
    page_of,
    pages,
    path,
    picture,
    query,
    whole,
)
from platestream_client.models import (
    AlertBody,
    AlertCreate,
    AlertTest,
    AlertTestResult,
    AlertTriggerBody,
    AlertUpdate,
    AnalyticsBody,
    ApiKeyBody,
    ApiKeyCreate,
    ApiKeyUpdate,
    AttemptOutcome,
    AuditEntryBody,
    CameraBody,
    CameraCreate,
    CameraDeleted,
    CameraFunnel,
    CameraImportAnswer,
    CameraLogin,
    CameraTest,
    CameraTestBody,
    CameraUpdate,
    CreditsBody,
    DeliveryBody,
    EventName,
    FileEncoding,
    FoundCameras,
    FoundStreams,
    NewApiKeyAnswer,
    NotificationSecretAnswer,
    NotificationTest,
    PlateImportAnswer,
    QueuedBody,
    ReplayAnswer,
    RotateSecret,
    SessionBody,
    WebhookBody,
    WebhookCreate,
    WebhookUpdate,
)
from platestream_client.recognitions import Recognitions


class Cameras(Resource[Way]):
    """Methods for cameras."""

    @pages
    def all(self) -> Pages[CameraBody]:
        """Return all cameras, newest first."""
        return Pages(Call("GET", "/api/cameras", page_of("cameras"), query(limit=PAGE)))

    @call
    def get(self, id: Id) -> Call[CameraBody]:
        """Return a camera."""
        return Call("GET", path("/api/cameras/{}", id), field_of("camera"))

    @call
    def create(self, camera: CameraCreate) -> Call[CameraBody]:
        """Create a camera. Returns once an ingest worker has accepted the camera."""
        return Call("POST", "/api/cameras", field_of("camera"), body={**camera})

    @call
    def update(self, id: Id, changes: CameraUpdate) -> Call[CameraBody]:
        """Update the given fields of a camera."""
        return Call("PUT", path("/api/cameras/{}", id), field_of("camera"), body={**changes})

    @call
    def delete(self, id: Id) -> Call[CameraDeleted]:
        """Delete a camera, and return the refund. The camera's recognitions remain stored."""
        return Call("DELETE", path("/api/cameras/{}", id), whole)

    @call
    def test(self, address: CameraTest) -> Call[CameraTestBody]:
        """Test a stream URL, and return the result. Nothing is stored."""
        return Call("POST", "/api/cameras/test", field_of("test"), body={**address})

    @call
    def discover(self, address: str = "") -> Call[FoundCameras]:
        """Find the ONVIF cameras in the API server's networks, or the camera at `address`."""
        return Call("POST", "/api/cameras/discover", whole, body={"address": address})

    @call
    def discover_streams(self, camera: CameraLogin) -> Call[FoundStreams]:
        """Return the video streams of a found camera."""
        return Call("POST", "/api/cameras/discover/streams", whole, body={**camera})

    @call
    def read_csv(
        self, data: bytes, *, encoding: FileEncoding | None = None
    ) -> Call[CameraImportAnswer]:
        """Return the cameras in a CSV file, as bodies for `create`. Nothing is stored."""
        given = query(encoding=encoding)
        return Call(
            "POST", "/api/cameras/import", whole, given, bytes(data), content_type="text/csv"
        )

    @call
    def funnel(
        self, id: Id, *, from_: datetime | str | None = None, to: datetime | str | None = None
    ) -> Call[CameraFunnel]:
        """Return hourly counts of a camera's frames, plates and vehicles."""
        return Call("GET", path("/api/cameras/{}/funnel", id), whole, query(from_=from_, to=to))

    @call
    def snapshot(self, id: Id, *, width: int | None = None) -> Call[Picture]:
        """Return the latest frame of a camera."""
        return Call("GET", path("/api/cameras/{}/snapshot", id), picture, query(width=width))


class Alerts(Resource[Way]):
    """Methods for alerts and their deliveries."""

    @pages
    def all(self) -> Pages[AlertBody]:
        """Return all alerts, newest first."""
        return Pages(Call("GET", "/api/alertas", page_of("alerts"), query(limit=PAGE)))

    @call
    def get(self, id: Id) -> Call[AlertBody]:
        """Return an alert."""
        return Call("GET", path("/api/alertas/{}", id), field_of("alert"))

    @call
    def create(self, alert: AlertCreate) -> Call[AlertBody]:
        """Create an alert."""
        return Call("POST", "/api/alertas", field_of("alert"), body={**alert})

    @call
    def update(self, id: Id, changes: AlertUpdate) -> Call[AlertBody]:
        """Update the given fields of an alert."""
        return Call("PUT", path("/api/alertas/{}", id), field_of("alert"), body={**changes})

    @call
    def delete(self, id: Id) -> Call[None]:
        """Delete an alert."""
        return Call("DELETE", path("/api/alertas/{}", id), nothing)

    @call
    def read_csv(
        self, data: bytes, *, encoding: FileEncoding | None = None
    ) -> Call[PlateImportAnswer]:
        """Return the plates in a CSV file and the skipped rows. Nothing is stored."""
        given = query(encoding=encoding)
        return Call(
            "POST", "/api/alertas/plates/import", whole, given, bytes(data), content_type="text/csv"
        )

    @call
    def test(self, alert: AlertTest) -> Call[AlertTestResult]:
        """Return the past recognitions that would have triggered an alert."""
        return Call("POST", "/api/alertas/test", whole, body={**alert})

    @call
    def deliveries(
        self,
        id: Id,
        *,
        limit: int | None = None,
        outcome: AttemptOutcome | None = None,
        from_: datetime | str | None = None,
        before: datetime | str | None = None,
    ) -> Call[list[DeliveryBody]]:
        """Return the deliveries of an alert's notifications, most recently attempted first."""
        given = query(limit=limit, outcome=outcome, from_=from_, before=before)
        take = field_of("deliveries")
        return Call("GET", path("/api/alertas/{}/deliveries", id), take, given)

    @pages
    def triggers(self, id: Id) -> Pages[AlertTriggerBody]:
        """Return the triggers of an alert, newest first."""
        address = path("/api/alertas/{}/triggers", id)
        return Pages(Call("GET", address, page_of("triggers"), query(limit=PAGE)))

    @call
    def redeliver(self, id: Id, delivery_id: Id) -> Call[QueuedBody]:
        """Redeliver a notification. Also requires the scopes alerts:read and recognitions:read."""
        address = path("/api/alertas/{}/deliveries/{}/redeliver", id, delivery_id)
        return Call("POST", address, field_of("delivery"), body={})

    @call
    def rotate_notification_secret(
        self, rotation: RotateSecret | None = None
    ) -> Call[NotificationSecretAnswer]:
        """Replace the secret that signs notifications. For a limited time, both secrets sign."""
        address = "/api/alertas/rotate-notification-secret"
        return Call("POST", address, whole, body={**(rotation or {})})

    @call
    def test_notifications(
        self, id: Id, test: NotificationTest | None = None
    ) -> Call[list[QueuedBody]]:
        """Send a test event through one of an alert's notifications. Return the deliveries."""
        address = path("/api/alertas/{}/notifications/test", id)
        return Call("POST", address, field_of("deliveries"), body={**(test or {})})


class Webhooks(Resource[Way]):
    """Methods for webhooks and their deliveries."""

    @pages
    def all(self) -> Pages[WebhookBody]:
        """Return all webhooks, newest first."""
        return Pages(Call("GET", "/api/webhooks", page_of("webhooks"), query(limit=PAGE)))

    @call
    def get(self, id: Id) -> Call[WebhookBody]:
        """Return a webhook."""
        return Call("GET", path("/api/webhooks/{}", id), field_of("webhook"))

    @call
    def create(self, webhook: WebhookCreate) -> Call[WebhookBody]:
        """Create a webhook. The result contains the signing secret."""
        return Call("POST", "/api/webhooks", field_of("webhook"), body={**webhook})

    @call
    def update(self, id: Id, changes: WebhookUpdate) -> Call[WebhookBody]:
        """Update the given fields of a webhook."""
        return Call("PUT", path("/api/webhooks/{}", id), field_of("webhook"), body={**changes})

    @call
    def delete(self, id: Id) -> Call[None]:
        """Delete a webhook."""
        return Call("DELETE", path("/api/webhooks/{}", id), nothing)

    @call
    def rotate_secret(self, id: Id, rotation: RotateSecret | None = None) -> Call[WebhookBody]:
        """Replace the signing secret. For a limited time, both secrets sign."""
        address = path("/api/webhooks/{}/rotate-secret", id)
        return Call("POST", address, field_of("webhook"), body={**(rotation or {})})

    @call
    def deliveries(
        self,
        id: Id,
        *,
        limit: int | None = None,
        outcome: AttemptOutcome | None = None,
        from_: datetime | str | None = None,
        before: datetime | str | None = None,
    ) -> Call[list[DeliveryBody]]:
        """Return the deliveries of a webhook, most recently attempted first."""
        given = query(limit=limit, outcome=outcome, from_=from_, before=before)
        take = field_of("deliveries")
        return Call("GET", path("/api/webhooks/{}/deliveries", id), take, given)

    @call
    def redeliver(self, id: Id, delivery_id: Id) -> Call[QueuedBody]:
        """Redeliver a delivery. Return the queued delivery."""
        address = path("/api/webhooks/{}/deliveries/{}/redeliver", id, delivery_id)
        return Call("POST", address, field_of("delivery"), body={})

    @call
    def test(self, id: Id, *, event: EventName | None = None) -> Call[QueuedBody]:
        """Send a test event. Return the queued delivery."""
        body = {"event": event} if event else {}
        return Call("POST", path("/api/webhooks/{}/test", id), field_of("delivery"), body=body)

    @call
    def replay(self, id: Id, from_: datetime | str, to: datetime | str) -> Call[ReplayAnswer]:
        """Replay the events of a time range. Return the number of events."""
        body = query(from_=from_, to=to)
        return Call("POST", path("/api/webhooks/{}/replay", id), whole, body=body)


class ApiKeys(Resource[Way]):
    """Methods for API keys."""

    @pages
    def all(self) -> Pages[ApiKeyBody]:
        """Return all API keys, newest first."""
        return Pages(Call("GET", "/api/api-keys", page_of("apiKeys"), query(limit=PAGE)))

    @call
    def get(self, id: Id) -> Call[ApiKeyBody]:
        """Return an API key, without the secret part."""
        return Call("GET", path("/api/api-keys/{}", id), field_of("apiKey"))

    @call
    def create(self, key: ApiKeyCreate) -> Call[NewApiKeyAnswer]:
        """Create an API key. Only this result contains the complete key, ``plainKey``."""
        return Call("POST", "/api/api-keys", whole, body={**key})

    @call
    def update(self, id: Id, changes: ApiKeyUpdate) -> Call[ApiKeyBody]:
        """Update the given fields of an API key."""
        return Call("PUT", path("/api/api-keys/{}", id), field_of("apiKey"), body={**changes})

    @call
    def revoke(self, id: Id) -> Call[None]:
        """Revoke an API key."""
        return Call("DELETE", path("/api/api-keys/{}", id), nothing)


class Account(Resource[Way]):
    """Methods for the account: credits, analytics, audit log and session."""

    @call
    def credits(self) -> Call[CreditsBody]:
        """Return the credit balance and the most recent transactions."""
        return Call("GET", "/api/credits", whole)

    @call
    def analytics(self) -> Call[AnalyticsBody]:
        """Return the analytics of the last 30 days."""
        return Call("GET", "/api/analytics", whole)

    @pages
    def audit(
        self,
        *,
        from_: datetime | str | None = None,
        to: datetime | str | None = None,
        action: str | None = None,
        actor: str | None = None,
        subject: Id | None = None,
        plate: str | None = None,
        page_size: int = PAGE,
    ) -> Pages[AuditEntryBody]:
        """Return the audit log entries, newest first.

        ``plate`` must be a complete plate. Case and separators are ignored.
        """
        given = query(
            from_=from_,
            to=to,
            action=action,
            actor=actor,
            subject=subject,
            plate=plate,
            limit=page_size,
        )
        return Pages(Call("GET", "/api/audit", page_of("entries"), given))

    @call
    def session(self) -> Call[SessionBody]:
        """Return the account, scopes and limits of the API key."""
        return Call("GET", "/api/session", field_of("session"))


class Resources(Generic[Way]):
    """The resources of the API, for one of the two clients."""

    def __init__(self, way: Way) -> None:
        self.recognitions: Recognitions[Way] = Recognitions(way)
        self.cameras: Cameras[Way] = Cameras(way)
        self.alerts: Alerts[Way] = Alerts(way)
        self.webhooks: Webhooks[Way] = Webhooks(way)
        self.api_keys: ApiKeys[Way] = ApiKeys(way)
        self.account: Account[Way] = Account(way)
