"""The resources of the API, each method once for both clients.

Bodies and answers are dictionaries as they are in JSON, with their types in
``platestream_client.models``; what each field means stands there and in the API's description.
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
    CameraTest,
    CameraTestBody,
    CameraUpdate,
    CreditsBody,
    DeliveryBody,
    EventName,
    FileEncoding,
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
    """The streams that are watched."""

    @pages
    def all(self) -> Pages[CameraBody]:
        """Return all cameras, newest first."""
        return Pages(Call("GET", "/api/cameras", page_of("cameras"), query(limit=PAGE)))

    @call
    def get(self, id: Id) -> Call[CameraBody]:
        """Return one camera."""
        return Call("GET", path("/api/cameras/{}", id), field_of("camera"))

    @call
    def create(self, camera: CameraCreate) -> Call[CameraBody]:
        """Make a camera; it is there once a worker has taken it."""
        return Call("POST", "/api/cameras", field_of("camera"), body={**camera})

    @call
    def update(self, id: Id, changes: CameraUpdate) -> Call[CameraBody]:
        """Change what is given of a camera."""
        return Call("PUT", path("/api/cameras/{}", id), field_of("camera"), body={**changes})

    @call
    def delete(self, id: Id) -> Call[CameraDeleted]:
        """Delete a camera; its recognitions stay."""
        return Call("DELETE", path("/api/cameras/{}", id), whole)

    @call
    def test(self, address: CameraTest) -> Call[CameraTestBody]:
        """Look at an address once, and keep nothing."""
        return Call("POST", "/api/cameras/test", field_of("test"), body={**address})

    @call
    def read_csv(
        self, data: bytes, *, encoding: FileEncoding | None = None
    ) -> Call[CameraImportAnswer]:
        """Return the cameras of a CSV file, to be created one by one. Nothing is stored."""
        given = query(encoding=encoding)
        return Call(
            "POST", "/api/cameras/import", whole, given, bytes(data), content_type="text/csv"
        )

    @call
    def funnel(
        self, id: Id, *, from_: datetime | str | None = None, to: datetime | str | None = None
    ) -> Call[CameraFunnel]:
        """Return how far a camera's frames came, by the hour."""
        return Call("GET", path("/api/cameras/{}/funnel", id), whole, query(from_=from_, to=to))

    @call
    def snapshot(self, id: Id, *, width: int | None = None) -> Call[Picture]:
        """Return a camera's latest picture."""
        return Call("GET", path("/api/cameras/{}/snapshot", id), picture, query(width=width))


class Alerts(Resource[Way]):
    """The rules that fire on plates."""

    @pages
    def all(self) -> Pages[AlertBody]:
        """Return all alerts, newest first."""
        return Pages(Call("GET", "/api/alertas", page_of("alerts"), query(limit=PAGE)))

    @call
    def get(self, id: Id) -> Call[AlertBody]:
        """Return one alert."""
        return Call("GET", path("/api/alertas/{}", id), field_of("alert"))

    @call
    def create(self, alert: AlertCreate) -> Call[AlertBody]:
        """Make an alert."""
        return Call("POST", "/api/alertas", field_of("alert"), body={**alert})

    @call
    def update(self, id: Id, changes: AlertUpdate) -> Call[AlertBody]:
        """Change what is given of an alert."""
        return Call("PUT", path("/api/alertas/{}", id), field_of("alert"), body={**changes})

    @call
    def delete(self, id: Id) -> Call[None]:
        """Delete an alert."""
        return Call("DELETE", path("/api/alertas/{}", id), nothing)

    @call
    def read_csv(
        self, data: bytes, *, encoding: FileEncoding | None = None
    ) -> Call[PlateImportAnswer]:
        """Return the plates of a CSV file, and the rows that were skipped. Nothing is stored."""
        given = query(encoding=encoding)
        return Call(
            "POST", "/api/alertas/plates/import", whole, given, bytes(data), content_type="text/csv"
        )

    @call
    def test(self, alert: AlertTest) -> Call[AlertTestResult]:
        """Say for which past recognitions an alert would have fired."""
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
        """Return what an alert sent by its own notifications, the latest tried first."""
        given = query(limit=limit, outcome=outcome, from_=from_, before=before)
        take = field_of("deliveries")
        return Call("GET", path("/api/alertas/{}/deliveries", id), take, given)

    @pages
    def triggers(self, id: Id) -> Pages[AlertTriggerBody]:
        """Return what an alert fired for, newest first."""
        address = path("/api/alertas/{}/triggers", id)
        return Pages(Call("GET", address, page_of("triggers"), query(limit=PAGE)))

    @call
    def redeliver(self, id: Id, delivery_id: Id) -> Call[QueuedBody]:
        """Send a notification again. Needs alerts:read and recognitions:read too."""
        address = path("/api/alertas/{}/deliveries/{}/redeliver", id, delivery_id)
        return Call("POST", address, field_of("delivery"), body={})

    @call
    def rotate_notification_secret(
        self, rotation: RotateSecret | None = None
    ) -> Call[NotificationSecretAnswer]:
        """Replace the secret of notifications to URLs; the old one signs as well for a while."""
        address = "/api/alertas/rotate-notification-secret"
        return Call("POST", address, whole, body={**(rotation or {})})

    @call
    def test_notifications(
        self, id: Id, test: NotificationTest | None = None
    ) -> Call[list[QueuedBody]]:
        """Send a made-up event by an alert's own notifications."""
        address = path("/api/alertas/{}/notifications/test", id)
        return Call("POST", address, field_of("deliveries"), body={**(test or {})})


class Webhooks(Resource[Way]):
    """The addresses to which events are sent."""

    @pages
    def all(self) -> Pages[WebhookBody]:
        """Return all webhooks, newest first."""
        return Pages(Call("GET", "/api/webhooks", page_of("webhooks"), query(limit=PAGE)))

    @call
    def get(self, id: Id) -> Call[WebhookBody]:
        """Return one webhook."""
        return Call("GET", path("/api/webhooks/{}", id), field_of("webhook"))

    @call
    def create(self, webhook: WebhookCreate) -> Call[WebhookBody]:
        """Make a webhook; the answer has its secret."""
        return Call("POST", "/api/webhooks", field_of("webhook"), body={**webhook})

    @call
    def update(self, id: Id, changes: WebhookUpdate) -> Call[WebhookBody]:
        """Change what is given of a webhook."""
        return Call("PUT", path("/api/webhooks/{}", id), field_of("webhook"), body={**changes})

    @call
    def delete(self, id: Id) -> Call[None]:
        """Delete a webhook."""
        return Call("DELETE", path("/api/webhooks/{}", id), nothing)

    @call
    def rotate_secret(self, id: Id, rotation: RotateSecret | None = None) -> Call[WebhookBody]:
        """Make a new secret; the old one signs as well for a while."""
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
        """Return what was sent to a webhook, the latest tried first."""
        given = query(limit=limit, outcome=outcome, from_=from_, before=before)
        take = field_of("deliveries")
        return Call("GET", path("/api/webhooks/{}/deliveries", id), take, given)

    @call
    def redeliver(self, id: Id, delivery_id: Id) -> Call[QueuedBody]:
        """Send a delivery again."""
        address = path("/api/webhooks/{}/deliveries/{}/redeliver", id, delivery_id)
        return Call("POST", address, field_of("delivery"), body={})

    @call
    def test(self, id: Id, *, event: EventName | None = None) -> Call[QueuedBody]:
        """Send a made-up event."""
        body = {"event": event} if event else {}
        return Call("POST", path("/api/webhooks/{}/test", id), field_of("delivery"), body=body)

    @call
    def replay(self, id: Id, from_: datetime | str, to: datetime | str) -> Call[ReplayAnswer]:
        """Send the events of a time again."""
        body = query(from_=from_, to=to)
        return Call("POST", path("/api/webhooks/{}/replay", id), whole, body=body)


class ApiKeys(Resource[Way]):
    """The keys of the account."""

    @pages
    def all(self) -> Pages[ApiKeyBody]:
        """Return all keys, newest first."""
        return Pages(Call("GET", "/api/api-keys", page_of("apiKeys"), query(limit=PAGE)))

    @call
    def get(self, id: Id) -> Call[ApiKeyBody]:
        """Return one key, without the key itself."""
        return Call("GET", path("/api/api-keys/{}", id), field_of("apiKey"))

    @call
    def create(self, key: ApiKeyCreate) -> Call[NewApiKeyAnswer]:
        """Make a key; ``plainKey`` of the answer is shown this once."""
        return Call("POST", "/api/api-keys", whole, body={**key})

    @call
    def update(self, id: Id, changes: ApiKeyUpdate) -> Call[ApiKeyBody]:
        """Change what is given of a key."""
        return Call("PUT", path("/api/api-keys/{}", id), field_of("apiKey"), body={**changes})

    @call
    def revoke(self, id: Id) -> Call[None]:
        """End a key."""
        return Call("DELETE", path("/api/api-keys/{}", id), nothing)


class Account(Resource[Way]):
    """What concerns the account as a whole."""

    @call
    def credits(self) -> Call[CreditsBody]:
        """Return the balance and its latest changes."""
        return Call("GET", "/api/credits", whole)

    @call
    def analytics(self) -> Call[AnalyticsBody]:
        """Return the counts of the last 30 days."""
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
        """Return who searched, changed, exported and erased what, newest first.

        ``plate`` is a whole plate, in any spelling.
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
        """Return whose key this is, and what it may do."""
        return Call("GET", "/api/session", field_of("session"))


class Resources(Generic[Way]):
    """All resources, for one of the clients."""

    def __init__(self, way: Way) -> None:
        self.recognitions: Recognitions[Way] = Recognitions(way)
        self.cameras: Cameras[Way] = Cameras(way)
        self.alerts: Alerts[Way] = Alerts(way)
        self.webhooks: Webhooks[Way] = Webhooks(way)
        self.api_keys: ApiKeys[Way] = ApiKeys(way)
        self.account: Account[Way] = Account(way)
