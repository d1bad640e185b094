# Made by `make client-types` from the API's schemas: sha256 1705adcf1431e6a85afa53ddbd0b2fa383ebd6750281aceef2d58252117737a5

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

RecognitionSource: TypeAlias = Literal["camera", "api"]
"""The source of a recognition."""


Direction: TypeAlias = Literal["towards", "away", "left", "right"]
"""The way of a vehicle, as its camera sees it."""


TriggerPhase: TypeAlias = Literal["final", "early", "confirmed", "corrected", "withdrawn"]
"""The phase of a trigger: provisional, or resolved in one way or another."""


CameraState: TypeAlias = Literal["connecting", "online", "offline", "disabled"]
"""The state of a camera."""


ZoneKind: TypeAlias = Literal["include", "exclude"]
"""The effect of a zone: plates are read only inside, or never inside."""


class Point(TypedDict):
    """A point in fractions (0..1) of the frame's width and height, from the top left."""

    x: float
    """From the left."""
    y: float
    """From the top."""


PlateMatchMode: TypeAlias = Literal["any", "specific", "allowlist"]
"""The plates that an alert matches: any, those in its list, those that are not."""


CameraScope: TypeAlias = Literal["all", "specific"]
"""The cameras that an alert looks at."""


Weekday: TypeAlias = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
"""Days as the interface names them."""


CooldownScope: TypeAlias = Literal["alert", "plate", "plate_camera"]
"""The scope of a cooldown: the alert, its plate, or its plate at one camera."""


class AcceptedAnswer(TypedDict):
    """The invited is a person now, and logs in with this address."""

    email: str
    """The address to log in with."""


class AccountUpdate(TypedDict):
    """The fields of one's own account to change; those left out stay."""

    timezone: NotRequired[str]
    """IANA time zone of reports, and of alerts without one of their own."""
    currentPassword: NotRequired[str]
    """Needed with `newPassword`."""
    newPassword: NotRequired[str]
    """All other sessions end with it; keys stay."""


ActorKind: TypeAlias = Literal["person", "key", "nobody", "command", "service", "database"]
"""Who acts. ``database`` is whoever changes a row without the service."""


class AlertTriggerBody(TypedDict):
    """A recognition that the alert fired for; `plate` is empty once it was erased."""

    recognitionId: str
    """Id of the recognition."""
    cameraId: str
    """Id of the camera."""
    cameraName: str
    """The camera's name at that time."""
    plate: str
    """Upper case, without separators."""
    confidence: float
    """The chance that the plate is right."""
    timestamp: str
    """When the frame was captured whose reading won; UTC."""
    id: str
    """Its id."""
    plateName: str | None
    """The plate's name in the alert's list, as it is now; null: none."""
    triggeredAt: str
    """When it was decided that it fires."""
    isLate: bool
    """Whether it fired long after the capture."""
    phase: TriggerPhase
    """As in why an alert fired for a recognition."""


class AlertTriggerList(TypedDict):
    """What an alert fired for, newest capture first."""

    triggers: list[AlertTriggerBody]
    """Those of the page."""
    nextKey: str | None
    """lastKey of the next page; null: there is none."""


class AnalyticsStats(TypedDict):
    """Numbers at a glance."""

    total30d: int
    """Recognitions of the last 30 × 24 hours."""
    activeCameras: int
    """Cameras that are enabled."""
    activeApiKeys: int
    """Keys that are enabled and have not expired."""
    successRate: float
    """Per cent of plate passes and image calls that ended in an accepted reading; 0 when nothing was seen."""


class AppriseNotificationBody(TypedDict):
    """Tell people by the service of an Apprise address."""

    type: str
    """`apprise`."""
    url: str
    """Its Apprise address."""
    id: NotRequired[str]
    """The one that a masked address stands for."""


class AppriseNotificationView(TypedDict):
    """Tell people by a service."""

    type: NotRequired[Literal["apprise"]]
    """`apprise`."""
    url: str
    """Its service, masked."""
    id: str
    """Tells it from the others."""


AttemptOutcome: TypeAlias = Literal["delivered", "retrying", "dead", "cancelled"]
"""The outcome of an attempt, and so of its delivery."""


class AuditActor(TypedDict):
    """Who acted, as they were named then."""

    kind: ActorKind
    """`command`: the operator's; `database`: somebody without the service."""
    id: NotRequired[str | None]
    """Id of the person or the key."""
    name: NotRequired[str | None]
    """E-mail address, or a key's name."""
    prefix: NotRequired[str | None]
    """The key's beginning."""


class AuditChange(TypedDict):
    """A changed field. Values are absent if they are secret, very long, or plates of a list."""

    field: str
    """The field's name."""
    before: NotRequired[Any]
    """What stood there."""
    after: NotRequired[Any]
    """What stands there."""
    added: NotRequired[int | None]
    """Number of plates added to a list."""
    removed: NotRequired[int | None]
    """Number of plates removed from a list."""


class AuditSubject(TypedDict):
    """What was acted on, as it was named then."""

    kind: str
    """The action's first word."""
    id: NotRequired[str | None]
    """Its id."""
    name: NotRequired[str | None]
    """Its name."""


class CameraDeleted(TypedDict):
    """The answer to a deletion: what it gave back."""

    creditsRefunded: int
    """Credits given back for the unused rest of the subscription."""


class CameraEntry(TypedDict):
    """A camera under its present name."""

    cameraId: str
    """Id of the camera."""
    cameraName: str
    """The camera's name at that time."""
    count: int
    """Recognitions."""


class CameraTest(TypedDict):
    """A camera's address to try."""

    rtspUrl: str
    """rtsp, rtsps, http or https address of the stream."""
    cameraId: NotRequired[str | None]
    """The camera whose stored password `***` in rtspUrl stands for."""


class CameraTestBody(TypedDict):
    """What came of a look at a camera's address."""

    reachable: bool
    """Whether a picture came."""
    code: str | None
    """Why none came, as a word: for example `unreachable`, `credentials`, `no_stream`, `not_video`, `silent`; null where one came."""
    error: str | None
    """The same in a sentence, as a camera's `lastError`."""
    frameWidth: int | None
    """Width of the camera's pictures in pixels."""
    frameHeight: int | None
    """Height of the camera's pictures in pixels."""
    milliseconds: int | None
    """Time until the first picture."""
    picture: str | None
    """The first picture as JPEG in base64, at most 1,280 pixels wide."""


class CharacterAlternativeBody(TypedDict):
    """A character that may stand in the plate instead."""

    position: int
    """Whose place it would take, from 0."""
    character: str
    """A letter or digit."""
    confidence: float
    """The chance that it is."""


Condition: TypeAlias = Literal["enabled", "plate", "camera", "confidence", "schedule"]
"""The conditions of an alert, in the order in which clients see them."""


class CorrectionBody(TypedDict):
    """What a person wrote beside the reading."""

    plate: str | None
    """What the plate really was, upper case, without separators; null: there is no plate in it."""
    region: NotRequired[str | None]
    """Its country or region, if it was told."""
    correctedBy: str
    """E-mail address of the account, or the name that the key had."""
    correctedAt: str
    """When; UTC."""


CredentialKind: TypeAlias = Literal["session", "key"]
"""What a caller shows: the cookie of a session or an API key."""


class DailyEntry(TypedDict):
    """A calendar day in the account's time zone."""

    date: str
    """The day, in the account's time zone."""
    count: int
    """Recognitions."""


DeliveryCause: TypeAlias = Literal["event", "test", "replay", "redelivery"]
"""Why something is delivered: it happened, or a client asked for it."""


DeliveryChannel: TypeAlias = Literal["http", "email", "apprise"]
"""The way that a delivery goes."""


class EmailNotificationBody(TypedDict):
    """Write to e-mail addresses."""

    type: str
    """`email`."""
    addresses: list[str]
    """E-mail addresses."""


class EmailNotificationView(TypedDict):
    """Write to e-mail addresses."""

    type: NotRequired[Literal["email"]]
    """`email`."""
    addresses: list[str]
    """E-mail addresses."""


EntryKind: TypeAlias = Literal["grant", "debit", "refund"]
"""The kinds of rows of the ledger."""


class ErasureBody(TypedDict):
    """An erasure: who asked for it, how far it is, what it erased."""

    id: str
    """Id of the erasure."""
    plate: str
    """First and last character; the rest is forgotten some ten minutes after it is done, or once the erasure in hand is over."""
    state: Literal["waiting", "running", "done"]
    """How far it is."""
    requestedBy: str
    """The person's address, or the key's name."""
    requestedAt: str
    """When it was asked for; UTC."""
    finishedAt: str | None
    """When it was done; UTC. Null: not yet."""
    error: str | None
    """Why it is tried again, in a sentence; null: nothing is wrong."""
    counts: dict[str, int] | None
    """What was erased, by name, once it is done."""


class ErasureRequest(TypedDict):
    """A plate to erase."""

    plate: str
    """The whole plate, without wildcards; case, spaces, dots, dashes and accents do not matter."""


class ErasuresAnswer(TypedDict):
    """The account's erasures, newest first."""

    erasures: list[ErasureBody]
    """Those that wait or are at work, and those done in the last 90 days."""
    nextKey: NotRequired[str | None]
    """lastKey of the next page; null: none. Only where `limit` or `lastKey` was sent."""


ErrorCode: TypeAlias = Literal[
    "invalid_request",
    "invalid_json",
    "incomplete_body",
    "invalid_cursor",
    "empty_image",
    "unsupported_image",
    "image_too_large",
    "truncated_image",
    "unreadable_image",
    "unreadable_file",
    "missing_credentials",
    "invalid_credentials",
    "expired_credentials",
    "insufficient_credits",
    "missing_scope",
    "beyond_own_expiry",
    "cross_site_request",
    "not_found",
    "method_not_allowed",
    "duplicate_identifier",
    "limit_reached",
    "last_administrator",
    "person_exists",
    "invitation_over",
    "invitation_for_another",
    "log_in_expired",
    "log_in_refused",
    "email_not_verified",
    "email_domain_refused",
    "unknown_person",
    "person_switched_off",
    "bound_to_another",
    "password_log_in_off",
    "idempotency_key_reused",
    "idempotency_key_in_use",
    "body_too_large",
    "unsupported_media_type",
    "rate_limited",
    "temporarily_blocked",
    "too_many_streams",
    "service_busy",
    "internal_error",
    "dependency_unavailable",
    "recognizer_busy",
    "recognizer_timeout",
    "agent_unavailable",
]
"""The stable words for programs; the only list of them."""


EventName: TypeAlias = Literal[
    "recognition.created",
    "alert.triggered",
    "alert.confirmed",
    "alert.corrected",
    "camera.online",
    "camera.offline",
]
"""The events that webhooks can get."""


ExportFormat: TypeAlias = Literal["csv", "parquet", "arrow"]
"""The formats of a file."""


class FieldError(TypedDict):
    """The fault of one parameter or body field."""

    path: str
    """The parameter, or the field's path."""
    message: str
    """What is wrong."""


FileEncoding: TypeAlias = Literal[
    "utf-8",
    "utf-16",
    "windows-1250",
    "windows-1251",
    "windows-1252",
    "windows-1253",
    "windows-1254",
    "iso-8859-1",
]
"""Encodings of files, under their IANA names."""


class FunnelHourBody(TypedDict):
    """An hour of a camera."""

    start: str
    """When the hour begins; UTC."""
    counts: dict[str, int]
    """What was counted in it, by name."""
    usual: int | None
    """Vehicles it reports in this hour of the week; null: too few to say so."""


class HourlyEntry(TypedDict):
    """An hour of the clock in the account's time zone, over all days."""

    hour: int
    """The hour of the day, in the account's time zone."""
    count: int
    """Recognitions."""


class ImportedCameraBody(TypedDict):
    """A camera of a file."""

    line: int
    """Its first line in the file, from 1."""
    camera: dict[str, Any]
    """A body for `POST /api/cameras`, which checks it."""


class InvitationAcceptance(TypedDict):
    """What the invited send."""

    token: str
    """Token of the link, from the email or the administrator."""
    name: str
    """Its name."""
    password: str
    """The password."""


class InvitationToken(TypedDict):
    """The token of a link."""

    token: str
    """Token of the link, from the email or the administrator."""


class LedgerEntryBody(TypedDict):
    """One change of the balance."""

    delta: int
    """Credits that came (positive) or went."""
    balance: int
    """Credits after it."""
    kind: EntryKind
    """Granted, taken or given back."""
    reason: str
    """The cause, in words."""
    createdAt: str
    """When it was booked; UTC."""


class LogIn(TypedDict):
    """The credentials of a log-in."""

    email: str
    """E-mail address."""
    password: str
    """The password."""


class LogInWaysAnswer(TypedDict):
    """How people may log in."""

    password: bool
    """Whether by e-mail address and password."""
    provider: str | None
    """Name of the OpenID Connect provider by which they may; null: there is none."""


MatchMode: TypeAlias = Literal["exact", "prefix", "substring", "wildcard", "fuzzy"]
"""The comparison of a text with a plate, both normalised."""


class NotificationSecretAnswer(TypedDict):
    """The secret that signs what alerts send to URLs."""

    notificationSecret: str
    """The secret."""
    previousNotificationSecretUntil: str | None
    """Until then the secret before this one signs as well."""


class NotificationTest(TypedDict):
    """The notification of an alert that is to be tried, counted from 0 in the order of reads."""

    notification: NotRequired[int]
    """Its place among the notifications, from 0."""


class OidcBegin(TypedDict):
    """How the log-in is to begin."""

    invitation: NotRequired[str | None]
    """Token of an invitation that is to be accepted by it; null: none."""


class OidcBegun(TypedDict):
    """Where the log-in goes on."""

    url: str
    """Address at the provider to which the browser goes."""


class OidcReturn(TypedDict):
    """What the provider sent the browser back with."""

    code: str
    """The parameter `code`."""
    state: str
    """The parameter `state`."""
    iss: NotRequired[str | None]
    """The parameter `iss`; null where there was none."""


class OpenSession(TypedDict):
    """A session that is open."""

    id: str
    """Id of the session."""
    createdAt: str
    """When somebody logged in."""
    expiresAt: str
    """When it ends by itself."""
    isCurrent: bool
    """Whether it is the one that calls."""


Outcome: TypeAlias = Literal["fired", "not_set_off", "held_back", "withdrawn", "not_then"]
"""The outcome of a recognition for an alert."""


class PlateCoordinates(TypedDict):
    """A box in pixels of the full frame; ``x``, ``y`` is the top left."""

    x: float
    """Left edge, in pixels."""
    y: float
    """Upper edge, in pixels."""
    width: float
    """Width, in pixels."""
    height: float
    """Height, in pixels."""


class PlateEntry(TypedDict):
    """A plate and when it was last seen."""

    plate: str
    """Upper case, without separators."""
    count: int
    """Recognitions."""
    lastSeenAt: str
    """Its latest recognition; UTC."""


class PlateRegion(TypedDict):
    """The country of a plate."""

    code: str
    """ISO 3166-1 alpha-2 code of the country; a model of another maker may name regions of its own."""
    confidence: NotRequired[float]
    """How sure it is; left out where the order of letters and digits tells it."""


class PlateResult(TypedDict):
    """One plate of the image. Coordinates are pixels of the picture as a person sees it."""

    plate: str
    """Upper case, without separators."""
    conf: float
    """The chance that the text is right, in per cent."""
    charConfs: str
    """Each character's sureness, 0 to 1, with `;` between."""
    coordinateLeft: int
    """Left edge of the plate, in pixels from the left."""
    coordinateTop: int
    """Upper edge of the plate, in pixels from the top."""
    coordinateRight: int
    """Right edge of the plate, in pixels from the left."""
    coordinateBottom: int
    """Lower edge of the plate, in pixels from the top."""
    plateType: str
    """Shape of the plate: `car`, `two-row` or `motorcycle`."""


class PointBody(TypedDict):
    """A point in fractions of the frame, from the top left."""

    x: float
    """From the left."""
    y: float
    """From the top."""


class ProviderIdentity(TypedDict):
    """Somebody as an OpenID Connect provider knows them."""

    issuer: str
    """The provider."""
    subject: str
    """Its id of the person."""


class QueuedBody(TypedDict):
    """A delivery that is about to be sent."""

    id: str
    """Id of the delivery."""
    eventId: str
    """Id of the event: the same on every attempt and for every receiver."""
    event: EventName
    """The event's name."""
    cause: DeliveryCause
    """Why it is sent."""


class QueuedList(TypedDict):
    """Deliveries that are about to be sent, one for each address."""

    deliveries: list[QueuedBody]
    """The deliveries."""


class RecognitionBody(TypedDict):
    """One pass of one vehicle, or a plate of a stored image call."""

    id: str
    """Id of the recognition."""
    userId: str
    """Id of the account."""
    cameraId: str
    """Id of the camera; the nil UUID for an image call."""
    cameraName: str
    """The camera's name at that time; `API` for an image call."""
    plate: str
    """Upper case, without separators."""
    confidence: float
    """The chance that the plate is right: the mean of its characters'."""
    timestamp: str
    """When the frame was captured whose reading won; UTC."""
    photoUrl: NotRequired[str]
    """The full frame: a storage key in lists and events, a link for an hour from GET by id. Left out where there is none."""
    cropUrl: NotRequired[str]
    """The plate cut out of it, likewise."""
    plateCoordinates: NotRequired[PlateCoordinates]
    """Where the plate is in the frame."""
    region: NotRequired[PlateRegion]
    """The plate's country, where it is known."""
    plateType: NotRequired[str]
    """Shape of the plate: `car`, `two-row` or `motorcycle`."""
    characterConfidences: NotRequired[list[float]]
    """Of each character of the plate, 0 to 1."""
    characterAlternatives: NotRequired[list[CharacterAlternativeBody]]
    """What may stand there instead, the likeliest first; not in lists."""
    firstSeenAt: NotRequired[str]
    """First frame of the pass; UTC."""
    lastSeenAt: NotRequired[str]
    """Last frame of the pass; UTC."""
    readingsCount: NotRequired[int]
    """Frames of the pass whose plate was read."""
    source: NotRequired[RecognitionSource]
    """`camera`, or `api` for an image call that was stored."""
    direction: NotRequired[Direction]
    """Which way the vehicle went, as the camera sees it; left out where it is not clear."""
    correction: NotRequired[CorrectionBody]
    """What a person wrote beside the reading, which stays as it is."""


class RecognitionDeliveryBody(TypedDict):
    """A delivery of a recognition and its target."""

    id: str
    """Id of the delivery."""
    eventId: str
    """Id of the event: the same on every attempt and for every receiver."""
    event: EventName
    """The event's name."""
    channel: DeliveryChannel
    """The way that it goes."""
    cause: DeliveryCause
    """Why it was last sent."""
    outcome: AttemptOutcome
    """What the last attempt came to."""
    attempts: int
    """Attempts so far."""
    createdAt: str
    """When it was made; UTC."""
    lastAttemptAt: str
    """When it was last tried; UTC."""
    lastDurationMs: int
    """Milliseconds that the last attempt took."""
    lastStatus: int | None
    """HTTP status, null where there was no answer."""
    lastError: str | None
    """What was wrong last, in a sentence; null: nothing."""
    nextAttemptAt: str | None
    """When it is tried again; UTC. Null: not any more."""
    webhookId: str | None
    """The webhook; null where it is an alert's own notification."""
    alertId: str | None
    """The alert whose own notification it is; null where a webhook got it."""


class RecognitionDeliveryList(TypedDict):
    """Deliveries of a recognition, the latest tried first."""

    deliveries: list[RecognitionDeliveryBody]
    """The deliveries."""


class RecognitionList(TypedDict):
    """A page, newest first. ``nextKey`` is null on the last one."""

    recognitions: list[RecognitionBody]
    """At most `limit`, newest first."""
    nextKey: str | None
    """lastKey of the next page; null: there is none."""


class RecognizeAnswer(TypedDict):
    """The plates found in an image, and the credits that are left."""

    plates: list[PlateResult]
    """The plates."""
    processingTimeMs: float
    """Milliseconds that the call took."""
    imageWidth: int
    """Width of the picture in pixels, as a person sees it."""
    imageHeight: int
    """Height of the picture in pixels, as a person sees it."""
    creditsRemaining: int
    """Credits that are left after this call."""


class Redeliver(TypedDict):
    """Nothing more is asked."""


Replay = TypedDict(
    "Replay",
    {
        "from": str,
        "to": str,
    },
)


class ReplayAnswer(TypedDict):
    """The number of events that are about to be sent again."""

    queued: int
    """Events that are sent again."""


Role: TypeAlias = Literal["viewer", "operator", "administrator"]
"""
What a person may do in an account.

`viewer`: sees recognitions, cameras, alerts and analytics. `operator`: also changes cameras,
alerts and webhooks, corrects readings and has images read. `administrator`: everything.
"""


class RotateSecret(TypedDict):
    """A new signing secret; the old one signs as well for a while."""

    secret: NotRequired[str | None]
    """The new secret; null: the service makes one."""
    overlapHours: NotRequired[float]
    """Hours for which the former secret signs as well."""


class ScheduleBody(TypedDict):
    """A window of local time; an end before the start is overnight."""

    startTime: NotRequired[str]
    """00:00 in a new alert."""
    endTime: NotRequired[str]
    """23:59 in a new alert."""
    daysOfWeek: NotRequired[list[Weekday]]
    """Empty: all days."""


class ScheduleView(TypedDict):
    """A window of local time; an end before the start is overnight."""

    startTime: str
    """The first minute of the window, HH:MM."""
    endTime: str
    """The last minute of the window, HH:MM; before the start: overnight."""
    daysOfWeek: list[Weekday]
    """The days on which the window begins; empty: all."""


Scope: TypeAlias = Literal[
    "recognitions:read",
    "recognitions:write",
    "corrections:write",
    "erasures:write",
    "cameras:read",
    "cameras:write",
    "alerts:read",
    "alerts:write",
    "webhooks:read",
    "webhooks:write",
    "api-keys:read",
    "api-keys:write",
    "analytics:read",
    "credits:read",
    "audit:read",
]
"""One permission of an API key."""


class SendTest(TypedDict):
    """A made-up event to send; the first that the webhook wants unless it is named."""

    event: NotRequired[EventName | None]
    """The event to make up; null: the first that the webhook wants."""


Separator: TypeAlias = Literal["comma", "semicolon"]
"""The separators of a CSV file's columns."""


class SessionList(TypedDict):
    """The person's sessions, newest first."""

    sessions: list[OpenSession]
    """The account's sessions."""


SkipCode: TypeAlias = Literal[
    "invalid_character",
    "empty_plate",
    "plate_too_long",
    "unreadable_row",
    "unclear_encoding",
    "limit_reached",
]
"""Reasons for which a row is skipped, for programs."""


class SkippedRowBody(TypedDict):
    """A row that was not taken."""

    line: int
    """Its first line in the file, from 1."""
    text: str
    """The plate as written, or the row."""
    code: SkipCode
    """The reason, for programs."""
    reason: str
    """The reason, for people."""
    position: NotRequired[int | None]
    """Position of an invalid character in `text`, from 1."""


class TriedTrigger(TypedDict):
    """A recognition that the alert would have fired for."""

    recognitionId: str
    """Id of the recognition."""
    cameraId: str
    """Id of the camera."""
    cameraName: str
    """The camera's name at that time."""
    plate: str
    """Upper case, without separators."""
    confidence: float
    """The chance that the plate is right."""
    timestamp: str
    """When the frame was captured whose reading won; UTC."""


class WebhookBody(TypedDict):
    """A webhook as reads show it."""

    id: str
    """Id of the webhook."""
    name: str
    """Its name."""
    url: str
    """Where events are sent; scheme and host alone without webhooks:read."""
    secret: str
    """*** where the key may not read webhooks."""
    enabled: bool
    """False: switched off."""
    events: list[EventName]
    """The events that it gets."""
    headers: dict[str, str]
    """Each value is *** where the key may not read webhooks."""
    failureCount: int
    """Deliveries given up since the last success."""
    failedAttempts: int
    """Failed tries since the last success."""
    lastDeliveryAt: str | None
    """When something was last sent; UTC. Null: never."""
    lastDeliveryStatus: int | None
    """HTTP status of the last attempt; null: no answer, or none yet."""
    disabledReason: str | None
    """Why the service switched the webhook off; null where it did not."""
    previousSecretUntil: str | None
    """Until then the secret before the last rotation signs as well."""
    createdAt: str
    """When it was made; UTC."""


class WebhookCreate(TypedDict):
    """A webhook to register."""

    name: str
    """Its name."""
    url: str
    """http or https address on the public internet."""
    events: list[
        Literal[
            "recognition.created",
            "alert.triggered",
            "alert.confirmed",
            "camera.online",
            "camera.offline",
        ]
    ]
    """The events to send."""
    secret: NotRequired[str | None]
    """Key of the signatures; null: the service makes one."""
    enabled: NotRequired[bool]
    """False: switched off."""
    headers: NotRequired[dict[str, str]]
    """Headers sent with each delivery; they replace none of the service's own."""


class WebhookList(TypedDict):
    """The caller's webhooks, newest first."""

    webhooks: list[WebhookBody]
    """The webhooks, newest first."""
    nextKey: NotRequired[str | None]
    """lastKey of the next page; null: none. Only where `limit` or `lastKey` was sent."""


class WebhookNotificationBody(TypedDict):
    """Send to a URL."""

    type: str
    """`webhook`."""
    url: str
    """http or https address on the public internet."""


class WebhookNotificationView(TypedDict):
    """Send to a URL."""

    type: NotRequired[Literal["webhook"]]
    """`webhook`."""
    url: str
    """Its address, http or https."""


class WebhookUpdate(TypedDict):
    """
    The fields of a webhook to change; those left out stay.

    ``***`` stands for the secret, or the value of a header, that is stored.
    """

    name: NotRequired[str]
    """Its name."""
    url: NotRequired[str]
    """http or https address on the public internet."""
    events: NotRequired[
        list[
            Literal[
                "recognition.created",
                "alert.triggered",
                "alert.confirmed",
                "camera.online",
                "camera.offline",
            ]
        ]
    ]
    """The events to send."""
    secret: NotRequired[str]
    """Key of the signatures; made by the service where none is given."""
    enabled: NotRequired[bool]
    """False: switched off."""
    headers: NotRequired[dict[str, str]]
    """Headers sent with each delivery; they replace none of the service's own."""


class WrittenCorrection(TypedDict):
    """What a plate really was."""

    plate: str | None
    """The plate; case, spaces, dots, dashes and accents do not matter. null: there is no plate in it."""
    region: NotRequired[str | None]
    """Country or region of the plate, if it is to be told."""


class ZoneBody(TypedDict):
    """A polygon in which plates are read, or are not."""

    kind: ZoneKind
    """Inside (`include`) or outside (`exclude`) plates are read."""
    points: list[PointBody]
    """Corners of the polygon."""


class ZoneView(TypedDict):
    """A polygon in which plates are read, or are not."""

    kind: ZoneKind
    """Inside (`include`) or outside (`exclude`) plates are read."""
    points: list[dict[str, float]]
    """Corners of the polygon."""


class RecognitionEventData(TypedDict):
    """``data`` of recognition.created."""

    recognition: RecognitionBody
    """The recognition."""


class Zone(TypedDict):
    """A polygon of at least three points in which plates are read, or are not."""

    kind: ZoneKind
    """Inside (`include`) or outside (`exclude`) plates are read."""
    points: list[Point]
    """Corners of the polygon."""


class AlertSchedule(TypedDict):
    """
    A window of local time, ``HH:mm``; no days means every day.

    An end before the start is an overnight window, which belongs to the day on which it starts;
    an end equal to the start is the whole day.
    """

    startTime: NotRequired[str]
    """The first minute of the window, HH:MM."""
    endTime: NotRequired[str]
    """The last minute of the window, HH:MM; before the start: overnight."""
    daysOfWeek: NotRequired[list[Weekday]]
    """The days on which the window begins; empty: all."""


Notifications: TypeAlias = EmailNotificationView | WebhookNotificationView | AppriseNotificationView


class AlertBody(TypedDict):
    """An alert as reads show it."""

    id: str
    """Id of the alert."""
    name: str
    """Its name."""
    description: str
    """A text for people."""
    enabled: bool
    """False: switched off."""
    plateMatchMode: PlateMatchMode
    """Any plate, those of `plates`, or all but those."""
    plates: list[str]
    """Plates; * stands for any characters, ? for one. Case, spaces, dots and dashes do not matter, and letters fold to what cameras read (Ä is A). A character that cannot be folded is refused with its position."""
    cameraScope: CameraScope
    """All cameras, or those of `cameraIds`."""
    cameraIds: list[str]
    """The cameras, where `cameraScope` is `specific`."""
    scheduleEnabled: bool
    """False: it may fire at any time."""
    schedule: ScheduleView
    """The window of time in which it may fire."""
    timezone: str
    """In which the schedule is read; the owner's by default."""
    minConfidence: float
    """Less sure recognitions do not count."""
    cooldownMinutes: float
    """Minutes after firing in which it does not fire again."""
    cooldownScope: CooldownScope
    """What the cooldown holds back: the whole alert, its plate, or that plate at that camera."""
    matchTolerance: int
    """Look-alike and edit errors that are allowed."""
    early: bool
    """Triggers as soon as two readings agree, before the vehicle has left."""
    plateNames: dict[str, str]
    """Names of entries of `plates`, by entry."""
    notifications: list[Notifications]
    """Who is told besides webhooks."""
    triggerCount: int
    """How often it fired."""
    lastTriggeredAt: str | None
    """When it last fired, capture time; UTC. Null: never."""
    createdAt: str
    """When it was made; UTC."""


class AlertCreate(TypedDict):
    """An alert to make."""

    name: str
    """Its name."""
    description: NotRequired[str]
    """A text for people."""
    enabled: NotRequired[bool]
    """False: switched off."""
    plateMatchMode: NotRequired[PlateMatchMode]
    """Any plate, those of `plates`, or all but those."""
    plates: NotRequired[list[str]]
    """Plates; * stands for any characters, ? for one. Case, spaces, dots and dashes do not matter, and letters fold to what cameras read (Ä is A). A character that cannot be folded is refused with its position."""
    plateNames: NotRequired[dict[str, str]]
    """Names of entries of `plates`, by entry; told with the alert."""
    cameraScope: NotRequired[CameraScope]
    """All cameras, or those of `cameraIds`."""
    cameraIds: NotRequired[list[str]]
    """The cameras, where `cameraScope` is `specific`."""
    scheduleEnabled: NotRequired[bool]
    """False: it may fire at any time."""
    schedule: NotRequired[ScheduleBody]
    """The window of time in which it may fire."""
    timezone: NotRequired[str | None]
    """IANA name; in which the schedule is read. Null: the account's."""
    minConfidence: NotRequired[float]
    """Less sure recognitions do not count."""
    cooldownMinutes: NotRequired[float]
    """Minutes after firing in which it does not fire again."""
    cooldownScope: NotRequired[CooldownScope]
    """What the cooldown holds back: the whole alert, its plate, or that plate at that camera."""
    matchTolerance: NotRequired[int]
    """Look-alike and edit errors that are allowed."""
    early: NotRequired[bool]
    """Trigger as soon as two readings agree, before the vehicle is gone."""
    notifications: NotRequired[
        list[EmailNotificationBody | WebhookNotificationBody | AppriseNotificationBody]
    ]
    """At most 100 addresses and URLs together."""


class AlertList(TypedDict):
    """The caller's alerts, newest first."""

    alerts: list[AlertBody]
    """The alerts."""
    nextKey: NotRequired[str | None]
    """lastKey of the next page; null: none. Only where `limit` or `lastKey` was sent."""
    countedAt: str | None
    """When it was counted how often alerts fired; null: it is not known just now, and `triggerCount` is 0."""
    sendsEmail: bool
    """False: no SMTP server is in the API's settings (`PLATESTREAM_SMTP_HOST`), and e-mail addresses among the notifications get nothing."""
    notificationSecret: str | None
    """Signs what alerts send to the URLs among their notifications; made with the first alert. Null where the key may not read webhooks."""
    previousNotificationSecretUntil: NotRequired[str | None]
    """Until then the secret before the last rotation signs as well."""


class AlertTestResult(TypedDict):
    """The triggers that an alert would have had, had it never fired before."""

    evaluated: int
    """Recognitions that were looked at, oldest first."""
    matched: int
    """Those that meet all conditions."""
    fired: int
    """Those of them that no cooldown holds back."""
    isComplete: bool
    """Whether all of the span was looked at: a call looks at no more than 200,000 recognitions and compares them for no longer than 5 seconds."""
    until: str
    """Up to where it was looked at: `to`, or where the next call may go on `from`."""
    triggers: list[TriedTrigger]
    """The first 200 that fired."""


class AlertUpdate(TypedDict):
    """The fields of an alert to change; those left out stay, also within ``schedule``."""

    name: NotRequired[str]
    """Its name."""
    description: NotRequired[str]
    """A text for people."""
    enabled: NotRequired[bool]
    """False: switched off."""
    plateMatchMode: NotRequired[PlateMatchMode]
    """Any plate, those of `plates`, or all but those."""
    plates: NotRequired[list[str]]
    """Plates; * stands for any characters, ? for one. Case, spaces, dots and dashes do not matter, and letters fold to what cameras read (Ä is A). A character that cannot be folded is refused with its position."""
    plateNames: NotRequired[dict[str, str]]
    """Names of entries of `plates`, by entry; told with the alert."""
    cameraScope: NotRequired[CameraScope]
    """All cameras, or those of `cameraIds`."""
    cameraIds: NotRequired[list[str]]
    """The cameras, where `cameraScope` is `specific`."""
    scheduleEnabled: NotRequired[bool]
    """False: it may fire at any time."""
    schedule: NotRequired[ScheduleBody]
    """The window of time in which it may fire."""
    timezone: NotRequired[str | None]
    """IANA name; in which the schedule is read. Null: the account's."""
    minConfidence: NotRequired[float]
    """Less sure recognitions do not count."""
    cooldownMinutes: NotRequired[float]
    """Minutes after firing in which it does not fire again."""
    cooldownScope: NotRequired[CooldownScope]
    """What the cooldown holds back: the whole alert, its plate, or that plate at that camera."""
    matchTolerance: NotRequired[int]
    """Look-alike and edit errors that are allowed."""
    early: NotRequired[bool]
    """Trigger as soon as two readings agree, before the vehicle is gone."""
    notifications: NotRequired[
        list[EmailNotificationBody | WebhookNotificationBody | AppriseNotificationBody]
    ]
    """At most 100 addresses and URLs together."""


class AnalyticsBody(TypedDict):
    """The last 30 × 24 hours up to now."""

    stats: AnalyticsStats
    """Totals."""
    dailyChart: list[DailyEntry]
    """Every day, oldest first, with zeros."""
    hourlyChart: list[HourlyEntry]
    """Every hour, 0 first, with zeros."""
    heatMap: list[list[int]]
    """Recognitions of each weekday, Monday first, by the hours of the clock."""
    topPlates: list[PlateEntry]
    """The most frequent first."""
    cameraChart: list[CameraEntry]
    """All cameras with any, the busiest first."""
    recent: list[RecognitionBody]
    """The newest first. Image fields are storage keys here."""


class ApiKeyBody(TypedDict):
    """A key as reads show it; the key itself is known to its holder only."""

    id: str
    """Id of the key."""
    name: str
    """The key's name."""
    prefix: str
    """The first characters of the key."""
    scopes: list[Scope]
    """What it may do."""
    enabled: bool
    """False: the key is refused."""
    createdAt: str
    """When it was made; UTC."""
    lastUsedAt: str | None
    """Within a minute."""
    expiresAt: str | None
    """Not valid from then on; UTC. Null: it does not end."""
    ancestors: list[str]
    """The keys by which it was made, its maker first; they may be revoked. Empty for keys made in a session or by the operator."""


class ApiKeyCreate(TypedDict):
    """A key to make."""

    name: str
    """A name to know the key by."""
    scopes: list[Scope]
    """What the key may do; never more than its maker may."""
    enabled: NotRequired[bool]
    """False: the key is refused."""
    expiresAt: NotRequired[str | None]
    """The key is refused from then on; null: never. A key gives none beyond its own; left out of a new key, it is that of its maker."""


class ApiKeyList(TypedDict):
    """The caller's keys, newest first."""

    apiKeys: list[ApiKeyBody]
    """The keys, newest first."""
    nextKey: NotRequired[str | None]
    """lastKey of the next page; null: none. Only where `limit` or `lastKey` was sent."""


class ApiKeyUpdate(TypedDict):
    """The fields of a key to change; those left out stay."""

    name: NotRequired[str]
    """A name to know the key by."""
    scopes: NotRequired[list[Scope]]
    """What the key may do; never more than its maker may."""
    enabled: NotRequired[bool]
    """False: the key is refused."""
    expiresAt: NotRequired[str | None]
    """The key is refused from then on; null: never. A key gives none beyond its own; left out of a new key, it is that of its maker."""


class AuditEntryBody(TypedDict):
    """An entry of the audit log."""

    id: str
    """Id of the entry."""
    timestamp: str
    """When it happened; UTC."""
    action: str
    """What was done."""
    actor: AuditActor
    """Who did it."""
    subject: NotRequired[AuditSubject | None]
    """What it was done to."""
    changes: list[AuditChange]
    """The fields that became others."""
    parameters: dict[str, Any]
    """What was asked, or how much."""
    address: NotRequired[str | None]
    """The caller's address."""
    requestId: NotRequired[str | None]
    """As in the header X-Request-Id."""


class AuditEntryList(TypedDict):
    """A page of the audit log, newest first."""

    entries: list[AuditEntryBody]
    """At most `limit`."""
    nextKey: str | None
    """lastKey of the next page; null: there is none."""


class CameraBody(TypedDict):
    """A camera as reads show it; passwords in its addresses are shown as ``***``."""

    id: str
    """Id of the camera."""
    identifier: str
    """Unique in the account; made of the address where none is given."""
    name: str
    """Its name."""
    location: str
    """Where it is, for people."""
    rtspUrl: str
    """Address of the stream; a password is shown as `***`."""
    enabled: bool
    """False: switched off."""
    status: CameraState
    """Whether pictures come."""
    lastSeenAt: str | None
    """When the last picture came; UTC. Null: none yet."""
    lastError: str | None
    """What was wrong last, in a sentence; null: nothing."""
    frameWidth: int | None
    """Width of the camera's pictures in pixels; null: not known yet."""
    frameHeight: int | None
    """Height of the camera's pictures in pixels; null: not known yet."""
    decoder: str | None
    """What decodes its video: `software`, or a kind of device; null: unknown yet."""
    sampleFps: float | None
    """Frames a second that are looked at; null: the installation's."""
    zones: list[ZoneView]
    """Where plates are read, and where not; empty: everywhere."""
    minPlateWidth: int
    """Narrower plates, in pixels, are not read."""
    timezone: str | None
    """IANA name; null: the account's."""
    createdAt: str
    """When it was made; UTC."""


class CameraCreate(TypedDict):
    """A camera to register."""

    name: str
    """Its name."""
    rtspUrl: str
    """rtsp, rtsps, http or https address of the stream."""
    location: NotRequired[str]
    """Where it is, for people."""
    enabled: NotRequired[bool]
    """False: switched off."""
    identifier: NotRequired[str | None]
    """Unique in the account; made of the address where none is given."""
    sampleFps: NotRequired[float | None]
    """Frames a second that are looked at; null: the installation's."""
    zones: NotRequired[list[ZoneBody]]
    """Where plates are read, and where not; empty: everywhere."""
    minPlateWidth: NotRequired[int]
    """Narrower plates, in pixels, are not read."""
    timezone: NotRequired[str | None]
    """IANA name; null: the account's."""


class CameraFunnel(TypedDict):
    """How far a camera's frames and vehicles came, oldest hour first."""

    hours: list[FunnelHourBody]
    """Hours that touch the span."""


class CameraImportAnswer(TypedDict):
    """The cameras of a file."""

    cameras: list[ImportedCameraBody]
    """In the order of the file."""
    skipped: list[SkippedRowBody]
    """The rows that cannot be read."""
    encoding: FileEncoding
    """The encoding that was used."""
    separator: str
    """The separator of columns that was used."""


class CameraList(TypedDict):
    """The caller's cameras, newest first."""

    cameras: list[CameraBody]
    """The cameras, newest first."""
    nextKey: NotRequired[str | None]
    """lastKey of the next page; null: none. Only where `limit` or `lastKey` was sent."""


class CameraTestAnswer(TypedDict):
    """The result of a test; nothing of it is kept."""

    test: CameraTestBody
    """What came of it."""


class CameraUpdate(TypedDict):
    """The fields of a camera to change; those left out stay."""

    name: NotRequired[str]
    """Its name."""
    rtspUrl: NotRequired[str]
    """rtsp, rtsps, http or https address of the stream."""
    location: NotRequired[str]
    """Where it is, for people."""
    enabled: NotRequired[bool]
    """False: switched off."""
    identifier: NotRequired[str | None]
    """Unique in the account; made of the address where none is given."""
    sampleFps: NotRequired[float | None]
    """Frames a second that are looked at; null: the installation's."""
    zones: NotRequired[list[ZoneBody]]
    """Where plates are read, and where not; empty: everywhere."""
    minPlateWidth: NotRequired[int]
    """Narrower plates, in pixels, are not read."""
    timezone: NotRequired[str | None]
    """IANA name; null: the account's."""


class CorrectedBody(TypedDict):
    """A corrected recognition: what was read, what a person wrote, and the pictures of it."""

    recognitionId: str
    """Id of the recognition."""
    cameraId: str
    """Id of the camera."""
    timestamp: str
    """When the frame was captured; UTC."""
    reading: str
    """What was read."""
    correction: CorrectionBody
    """The correction."""
    photoUrl: NotRequired[str | None]
    """Link to the full frame, for an hour."""
    cropUrl: NotRequired[str | None]
    """Link to the plate cut out of it, likewise."""


class CorrectionAnswer(TypedDict):
    """A correction as it was written."""

    correction: CorrectionBody
    """The correction as it is kept."""


class CorrectionList(TypedDict):
    """A page, the newest recognitions first."""

    corrections: list[CorrectedBody]
    """At most `limit`."""
    nextKey: str | None
    """lastKey of the next page; null: there is none."""


class CreditsBody(TypedDict):
    """The balance, and the newest rows of the ledger, newest first."""

    credits: int
    """Credits that are left."""
    ledger: list[LedgerEntryBody]
    """The latest changes, newest first."""


class DeliveryBody(TypedDict):
    """A delivery with what its last attempt came to."""

    id: str
    """Id of the delivery."""
    eventId: str
    """Id of the event: the same on every attempt and for every receiver."""
    event: EventName
    """The event's name."""
    channel: DeliveryChannel
    """The way that it goes."""
    cause: DeliveryCause
    """Why it was last sent."""
    outcome: AttemptOutcome
    """What the last attempt came to."""
    attempts: int
    """Attempts so far."""
    createdAt: str
    """When it was made; UTC."""
    lastAttemptAt: str
    """When it was last tried; UTC."""
    lastDurationMs: int
    """Milliseconds that the last attempt took."""
    lastStatus: int | None
    """HTTP status, null where there was no answer."""
    lastError: str | None
    """What was wrong last, in a sentence; null: nothing."""
    nextAttemptAt: str | None
    """When it is tried again; UTC. Null: not any more."""


class DeliveryList(TypedDict):
    """Deliveries, the latest tried first."""

    deliveries: list[DeliveryBody]
    """The deliveries."""


class DemoAnswer(TypedDict):
    """The plates found in an image."""

    plates: list[PlateResult]
    """The plates."""
    processingTimeMs: float
    """Milliseconds that the call took."""
    imageWidth: int
    """Width of the picture in pixels, as a person sees it."""
    imageHeight: int
    """Height of the picture in pixels, as a person sees it."""


class ErasureAnswer(TypedDict):
    """One erasure."""

    erasure: ErasureBody
    """The erasure."""


class Error(TypedDict):
    """Every answer that is not a success, whatever its status."""

    error: str
    """A sentence for a person."""
    code: ErrorCode
    """A stable word for programs."""
    requestId: str
    """As in the header X-Request-Id."""
    fields: NotRequired[list[FieldError]]
    """Only where fields are at fault."""
    retryAfter: NotRequired[int]
    """Seconds to wait; only with 429 and 503."""


class ExplainedAlert(TypedDict):
    """The outcome of a recognition for one alert."""

    alertId: str
    """Id of the alert."""
    alertName: str
    """The alert's name."""
    plateName: str | None
    """The plate's name in the alert's list, as it is now; null: none."""
    outcome: Outcome
    """`fired`; `not_set_off`: conditions are not met; `held_back`: the alert fired for another recognition within its cooldown; `withdrawn`: it fired early for another reading of the same pass, and that was taken back; `not_then`: it would fire now, but the alert was made or changed since, or the recognition is still on its way."""
    unmet: list[Condition]
    """Conditions of the alert, as it is now, that the recognition does not meet."""
    triggeredAt: str | None
    """When it was decided that it fires."""
    isLate: bool | None
    """Whether it fired long after the capture."""
    phase: TriggerPhase | None
    """`final`: it fired when the vehicle was gone. Else it fired early, and was `confirmed`, `corrected` (another plate, for which it fires as well) or `withdrawn`."""
    heldBackBy: str | None
    """The recognition whose cooldown held it back."""
    cooldownUntil: str | None
    """When that cooldown ended, in capture time."""


class ExplanationList(TypedDict):
    """Why each of the caller's alerts fired for a recognition or did not, newest alert first."""

    alerts: list[ExplainedAlert]
    """The alerts."""


class InvitationBody(TypedDict):
    """An invitation that nobody has accepted yet."""

    id: str
    """Id of the invitation."""
    email: str
    """E-mail address."""
    role: Role
    """What the person may do."""
    invitedBy: str
    """Address of the administrator who made it."""
    createdAt: str
    """When it was made; UTC."""
    expiresAt: str
    """Not valid from then on; UTC. Null: it does not end."""


class InvitationCreate(TypedDict):
    """Who is invited, and to what."""

    email: str
    """E-mail address."""
    role: Role
    """What the person may do."""


class InvitationList(TypedDict):
    """The account's open invitations, newest first."""

    invitations: list[InvitationBody]
    """The open invitations, newest first."""


class NewApiKeyAnswer(TypedDict):
    """A key just made, and the only sight of the key itself."""

    apiKey: ApiKeyBody
    """The key's record."""
    plainKey: str
    """The full key, shown this once."""


class NewInvitationAnswer(TypedDict):
    """An invitation just made, and the only sight of what opens it."""

    invitation: InvitationBody
    """The invitation."""
    token: str
    """Token that accepts it; shown this once. The email has another one, which proves the address."""
    emailSent: bool
    """Whether the link went to the invited by e-mail: an SMTP server is in the API's settings (`PLATESTREAM_SMTP_HOST`), and took it."""
    emailError: str | None
    """Why the e-mail did not go out; the invitation is good all the same. Null where it did, or where no server is set."""


class OpenInvitation(TypedDict):
    """An invitation as the invited see it."""

    email: str
    """E-mail address."""
    role: Role
    """What the person may do."""
    invitedBy: str
    """Address of the administrator who invites."""
    expiresAt: str
    """Not valid from then on; UTC. Null: it does not end."""


class OpenInvitationAnswer(TypedDict):
    """The invitation of a link."""

    invitation: OpenInvitation
    """The invitation."""


class PersonBody(TypedDict):
    """Somebody who logs in to the account."""

    id: str
    """Id of the person."""
    email: str
    """What they log in with."""
    name: str
    """Empty where they gave none."""
    role: Role
    """What the person may do."""
    enabled: bool
    """Whether they may log in."""
    isSelf: bool
    """Whether it is the person who calls."""
    hasPassword: bool
    """Whether they have a password here."""
    identity: ProviderIdentity | None
    """Who they are at the OpenID Connect provider; null until they log in by it."""
    createdAt: str
    """When it was made; UTC."""
    lastLogInAt: str | None
    """UTC; null: never."""


class PersonList(TypedDict):
    """The account's people, newest first."""

    people: list[PersonBody]
    """The people of the account."""


class PersonShown(TypedDict):
    """Who logged in."""

    id: str
    """Id of the person."""
    email: str
    """The address they log in with."""
    name: str
    """Their name; empty where they gave none."""
    role: Role
    """What they may do."""
    hasPassword: bool
    """Whether they have a password; who has none logs in by the provider alone."""


class PersonUpdate(TypedDict):
    """The fields of a person to change; those left out stay."""

    role: NotRequired[Role]
    """What the person may do."""
    enabled: NotRequired[bool]
    """False: cannot log in; open sessions end."""


class PlateImportAnswer(TypedDict):
    """
    The plates of a file, and what became of each row.

    `rows` is the sum of `taken`, `duplicates`, `blank`, `headings` and `skippedCount`.
    """

    plates: list[str]
    """Plates as written, for an alert's `plates`."""
    plateNames: dict[str, str]
    """Their names, for `plateNames`: from the column of names, or from the one after the plates."""
    rows: int
    """Rows of the file."""
    taken: int
    """Rows whose plate is in `plates`."""
    duplicates: int
    """Rows with a plate that an earlier row has."""
    blank: int
    """Blank rows and comments (`#`)."""
    headings: int
    """Rows with titles of columns, or `sep=;`."""
    skippedCount: int
    """Rows that were skipped."""
    skipped: list[SkippedRowBody]
    """The rows that were skipped, at most 1000."""
    encoding: FileEncoding
    """The encoding that was used."""
    separator: str
    """The separator of columns that was used."""


class QueuedAnswer(TypedDict):
    """A delivery that is about to be sent; the list of deliveries tells how it went."""

    delivery: QueuedBody
    """The delivery."""


class RecognitionAnswer(TypedDict):
    """One recognition, with links to its images that are valid for an hour."""

    recognition: RecognitionBody
    """The recognition."""


class SessionBody(TypedDict):
    """The caller: account, rights, and when the credential ends."""

    kind: CredentialKind
    """Whether a session calls or an API key."""
    credentialId: str
    """Id of the session or the key."""
    ownerId: str
    """Id of the account, the `userId` of its recognitions."""
    email: str
    """The account's e-mail address."""
    person: PersonShown | None
    """Who logged in; null for a key."""
    timezone: str
    """IANA time zone of the account: of its reports, and of alerts without one of their own."""
    scopes: list[Scope]
    """What the caller may do; a session has the scopes of its person's role."""
    expiresAt: str | None
    """When the credential ends; null for a key without an end."""
    limits: dict[str, int]
    """The account's limits by name."""


class WebhookAnswer(TypedDict):
    """One webhook."""

    webhook: WebhookBody
    """The webhook."""


class RecognitionCreatedEvent(TypedDict):
    """A plate was recognized."""

    id: str
    """Of the event: the same on every attempt and for every receiver."""
    event: Literal["recognition.created"]
    """The event's name."""
    createdAt: str
    """When the event happened; UTC."""
    data: RecognitionEventData
    test: NotRequired[bool]
    """Only where it is true: a test."""
    replay: NotRequired[bool]
    """Only where it is true: sent again."""


class CameraPayload(TypedDict):
    """
    A camera at the moment of the event; the password in its address is masked.

    The address is left out of MQTT messages.
    """

    id: str
    """Id of the camera."""
    identifier: str
    """Unique in the account; made of the address where none is given."""
    name: str
    """Its name."""
    location: str
    """Where it is, for people."""
    rtspUrl: NotRequired[str]
    """Address of the stream; a password is shown as `***`."""
    enabled: bool
    """False: switched off."""
    status: CameraState
    """Whether pictures come."""
    lastSeenAt: str | None
    """When the last picture came; UTC. Null: none yet."""
    lastError: str | None
    """What was wrong last, in a sentence; null: nothing."""
    frameWidth: int | None
    """Width of the camera's pictures in pixels; null: not known yet."""
    frameHeight: int | None
    """Height of the camera's pictures in pixels; null: not known yet."""
    decoder: str | None
    """What decodes its video: `software`, or a kind of device; null: unknown yet."""
    sampleFps: float | None
    """Frames a second that are looked at; null: the installation's."""
    zones: list[Zone]
    """Where plates are read, and where not; empty: everywhere."""
    minPlateWidth: int
    """Narrower plates, in pixels, are not read."""
    timezone: str | None
    """IANA name; null: the account's."""
    createdAt: str
    """When it was made; UTC."""


class AlertPayload(TypedDict):
    """An alert as reads show it."""

    id: str
    """Id of the alert."""
    name: str
    """Its name."""
    description: str
    """A text for people."""
    enabled: bool
    """False: switched off."""
    plateMatchMode: PlateMatchMode
    """Any plate, those of `plates`, or all but those."""
    plates: list[str]
    """Plates; * stands for any characters, ? for one. Case, spaces, dots and dashes do not matter, and letters fold to what cameras read (Ä is A). A character that cannot be folded is refused with its position."""
    cameraScope: CameraScope
    """All cameras, or those of `cameraIds`."""
    cameraIds: list[str]
    """The cameras, where `cameraScope` is `specific`."""
    scheduleEnabled: bool
    """False: it may fire at any time."""
    schedule: AlertSchedule
    """The window of time in which it may fire."""
    timezone: str
    """In which the schedule is read; the owner's by default."""
    minConfidence: float
    """Less sure recognitions do not count."""
    cooldownMinutes: float
    """Minutes after firing in which it does not fire again."""
    cooldownScope: CooldownScope
    """What the cooldown holds back: the whole alert, its plate, or that plate at that camera."""
    matchTolerance: int
    """Look-alike and edit errors that are allowed."""
    early: bool
    """Triggers as soon as two readings agree, before the vehicle has left."""
    lastTriggeredAt: str
    """When it last fired, capture time; UTC. Null: never."""
    createdAt: str
    """When it was made; UTC."""


class AlertAnswer(TypedDict):
    """One alert."""

    alert: AlertBody
    """The alert."""


AlertTest = TypedDict(
    "AlertTest",
    {
        "alert": AlertUpdate,
        "from": str,
        "to": NotRequired[str | None],
    },
)


class ApiKeyAnswer(TypedDict):
    """One key."""

    apiKey: ApiKeyBody
    """The key's record."""


class CameraAnswer(TypedDict):
    """One camera."""

    camera: CameraBody
    """The camera."""


class PersonAnswer(TypedDict):
    """One person."""

    person: PersonBody
    """The person."""


class SessionAnswer(TypedDict):
    """The caller of this session or key; a session's token is in the cookie alone."""

    session: SessionBody
    """The session."""


class AlertEventData(TypedDict):
    """
    ``data`` of alert.triggered, alert.confirmed and alert.corrected.

    ``trigger_id`` is the same in all events of one trigger. ``late``: the vehicle is surely gone.
    ``phase`` is set where an alert triggered early, ``provisional`` until that is confirmed or
    corrected; ``early_plate`` is the plate that was reported before. ``plate_name`` is the name
    that the alert's list has for the plate.
    """

    alert: AlertPayload
    """The alert."""
    recognition: RecognitionBody
    """The recognition."""
    triggerId: str
    """Id of this firing: the same in all that is told of it."""
    late: NotRequired[bool]
    """True: told late, as the frame was read late."""
    phase: NotRequired[TriggerPhase]
    """Where the alert stands: told early, settled, or final at once."""
    provisional: NotRequired[bool]
    """True: told before the vehicle was gone; may be corrected."""
    earlyPlate: NotRequired[str]
    """The plate that was told early, where another came out."""
    plateName: NotRequired[str]
    """Name that the alert's list has for the plate."""


class CameraEventData(TypedDict):
    """``data`` of camera.online and camera.offline."""

    camera: CameraPayload
    """The camera."""
    at: str
    """When the camera connected or disconnected; UTC."""


class AlertTriggeredEvent(TypedDict):
    """An alert fired."""

    id: str
    """Of the event: the same on every attempt and for every receiver."""
    event: Literal["alert.triggered"]
    """The event's name."""
    createdAt: str
    """When the event happened; UTC."""
    data: AlertEventData
    test: NotRequired[bool]
    """Only where it is true: a test."""
    replay: NotRequired[bool]
    """Only where it is true: sent again."""


class AlertConfirmedEvent(TypedDict):
    """An alert that fired early was right."""

    id: str
    """Of the event: the same on every attempt and for every receiver."""
    event: Literal["alert.confirmed"]
    """The event's name."""
    createdAt: str
    """When the event happened; UTC."""
    data: AlertEventData
    test: NotRequired[bool]
    """Only where it is true: a test."""
    replay: NotRequired[bool]
    """Only where it is true: sent again."""


class AlertCorrectedEvent(TypedDict):
    """An alert that fired early was for another plate, or for nothing."""

    id: str
    """Of the event: the same on every attempt and for every receiver."""
    event: Literal["alert.corrected"]
    """The event's name."""
    createdAt: str
    """When the event happened; UTC."""
    data: AlertEventData
    test: NotRequired[bool]
    """Only where it is true: a test."""
    replay: NotRequired[bool]
    """Only where it is true: sent again."""


class CameraOnlineEvent(TypedDict):
    """A camera connected."""

    id: str
    """Of the event: the same on every attempt and for every receiver."""
    event: Literal["camera.online"]
    """The event's name."""
    createdAt: str
    """When the event happened; UTC."""
    data: CameraEventData
    test: NotRequired[bool]
    """Only where it is true: a test."""
    replay: NotRequired[bool]
    """Only where it is true: sent again."""


class CameraOfflineEvent(TypedDict):
    """A camera disconnected."""

    id: str
    """Of the event: the same on every attempt and for every receiver."""
    event: Literal["camera.offline"]
    """The event's name."""
    createdAt: str
    """When the event happened; UTC."""
    data: CameraEventData
    test: NotRequired[bool]
    """Only where it is true: a test."""
    replay: NotRequired[bool]
    """Only where it is true: sent again."""


Event: TypeAlias = (
    RecognitionCreatedEvent
    | AlertTriggeredEvent
    | AlertConfirmedEvent
    | AlertCorrectedEvent
    | CameraOnlineEvent
    | CameraOfflineEvent
)
"""What a receiver of webhooks gets."""
