"""Publishing all configuration again, for a topic that was lost."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from api.alerts.config import alert_config
from api.cameras.config import camera_config
from api.config_log.outbox import enqueue
from api.db.tables import Alert, Camera, Owner, Webhook
from api.webhooks.config import webhook_config
from contracts.topics import CONFIG_ALERTS, CONFIG_CAMERAS, CONFIG_WEBHOOKS


def republish_all(session: Session) -> int:
    """Put everything that stages are told into the outbox again and return how many records.

    The rows are locked meanwhile, so that no change of one is overtaken by its older state.
    """
    return _cameras(session) + _alerts(session) + _webhooks(session)


def _cameras(session: Session) -> int:
    found = session.scalars(select(Camera).order_by(Camera.id).with_for_update(read=True)).all()
    for camera in found:
        enqueue(session, CONFIG_CAMERAS, str(camera.id), camera_config(camera))
    return len(found)


def _alerts(session: Session) -> int:
    found = session.execute(
        select(Alert, Owner)
        .join(Owner, Owner.id == Alert.owner_id)
        .order_by(Alert.id)
        .with_for_update(read=True, of=Alert)
    ).all()
    for alert, owner in found:
        enqueue(session, CONFIG_ALERTS, str(alert.id), alert_config(alert, owner))
    return len(found)


def _webhooks(session: Session) -> int:
    found = session.scalars(select(Webhook).order_by(Webhook.id).with_for_update(read=True)).all()
    for webhook in found:
        enqueue(session, CONFIG_WEBHOOKS, str(webhook.id), webhook_config(webhook))
    return len(found)
