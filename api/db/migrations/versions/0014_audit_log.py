"""The audit log: entries that triggers write with each change, and that nobody changes.

Revision: 0014, after 0013. Blocking: no; writes to the tables wait while it is committed.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

_CHANGE = """
CREATE FUNCTION audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
-- Arguments: the action, the column that names the row, and columns that are nobody's business.
DECLARE
    actor jsonb := coalesce(nullif(current_setting('platestream.actor', true), ''),
                            '{"kind": "database"}');
    former jsonb := '{}';
    latter jsonb := '{}';
    named jsonb;
    differences jsonb;
BEGIN
    -- What goes with the row that it belongs to is told by that row's entry; what the service
    -- removes by itself is past its time.
    IF pg_trigger_depth() > 1 OR (TG_OP = 'DELETE' AND actor ->> 'kind' = 'service') THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'INSERT' OR TG_ARGV[0] LIKE '%.created' THEN
        latter := jsonb_strip_nulls(to_jsonb(NEW));
    ELSIF TG_OP = 'DELETE' THEN
        former := jsonb_strip_nulls(to_jsonb(OLD));
    ELSE
        former := to_jsonb(OLD);
        latter := to_jsonb(NEW);
    END IF;
    named := former || latter;
    SELECT coalesce(jsonb_object_agg(field, CASE
        WHEN field ~ '_(encrypted|hash)$' THEN '{}'::jsonb
        ELSE jsonb_strip_nulls(jsonb_build_object(
            'before', audit_value(former -> field, latter -> field),
            'after', audit_value(latter -> field, former -> field)))
        END), '{}')
    INTO differences
    FROM jsonb_object_keys(named) AS field
    WHERE former -> field IS DISTINCT FROM latter -> field
        AND NOT field = ANY (TG_ARGV[2]::text[])
        AND NOT field = ANY ('{id, owner_id, created_at, updated_at, revision}');
    IF TG_OP = 'UPDATE' AND differences = '{}' THEN
        RETURN NULL;
    END IF;
    INSERT INTO audit_entries (id, owner_id, action, actor_kind, actor_id, actor_name,
        actor_prefix, subject_kind, subject_id, subject_name, changes, address, request_id)
    VALUES (gen_random_uuid(), (coalesce(named ->> 'owner_id', named ->> 'id'))::uuid, TG_ARGV[0],
        actor ->> 'kind', (actor ->> 'id')::uuid, actor ->> 'name', actor ->> 'prefix',
        split_part(TG_ARGV[0], '.', 1),
        -- A row of the ledger has a number, which names nothing.
        CASE WHEN TG_TABLE_NAME <> 'credit_entries'
            THEN (coalesce(named ->> 'id', named ->> 'recognition_id'))::uuid END,
        named ->> TG_ARGV[1], differences, actor ->> 'address', actor ->> 'request_id');
    RETURN NULL;
END
$$
"""

_VALUE = """
CREATE FUNCTION audit_value(kept jsonb, other jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
-- Of two lists what the other one lacks; of what is very long nothing.
    SELECT CASE WHEN length(found::text) <= 20000 THEN found END FROM (
        SELECT CASE WHEN jsonb_typeof(kept) = 'array' AND jsonb_typeof(other) = 'array'
            THEN (SELECT coalesce(jsonb_agg(element), '[]')
                  FROM jsonb_array_elements(kept) AS element
                  WHERE element NOT IN (SELECT jsonb_array_elements(other)))
            ELSE kept END
    ) AS difference (found)
$$
"""

_HOLD = """
CREATE FUNCTION audit_hold() RETURNS trigger LANGUAGE plpgsql AS $$
-- Three ways are open, each for the one piece of code that sets the name of its way.
DECLARE
    way text := current_setting('platestream.audit_way', true);
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF way = 'account' OR (way = 'retention' AND OLD.at < now() - interval '30 days') THEN
            RETURN OLD;
        END IF;
    ELSIF TG_OP = 'UPDATE' THEN
        IF way = 'erasure' AND NEW.erased AND
            to_jsonb(NEW) - '{changes, parameters, subject_name, erased}'::text[]
            = to_jsonb(OLD) - '{changes, parameters, subject_name, erased}'::text[] THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'nobody changes the audit log' USING ERRCODE = 'insufficient_privilege';
END
$$
"""

_IGNORED = {
    "owners": "notification_secret_encrypted",
    "api_keys": "key_hash, ancestors, last_used_at",
    "people": "last_log_in_at",
    "invitations": "token_hash, invited_by",
    "sessions": "person_id, token_hash, expires_at",
    "cameras": "confirmed, identifier_derived, subscription_credits, paid_until",
    "alerts": "rule_cost, trigger_count, last_triggered_at",
    "webhooks": "failure_count, last_delivery_at, last_delivery_status, previous_secret_encrypted",
    "corrections": "recognition_id, camera_id, captured_ms, photo_key, crop_key, corrected_by,"
    " corrected_at",
    "credit_entries": "kind, balance_after",
}
"""Columns that nobody sets, or that only name something, by table."""

_ACTOR = "coalesce(nullif(current_setting('platestream.actor', true), ''), '{}')::jsonb"
_ACCEPTED = f"{_ACTOR} ->> 'name' = OLD.email"
_CHANGES = (
    ("owners", "INSERT", "account.created", "email", "true"),
    ("owners", "UPDATE", "account.updated", "email", "true"),
    ("api_keys", "INSERT", "key.created", "name", "true"),
    ("api_keys", "UPDATE", "key.updated", "name", "true"),
    ("api_keys", "DELETE", "key.revoked", "name", "true"),
    ("people", "INSERT", "person.joined", "email", "true"),
    ("people", "UPDATE", "person.updated", "email", "true"),
    ("people", "DELETE", "person.removed", "email", "true"),
    ("invitations", "INSERT", "invitation.created", "email", "true"),
    ("invitations", "DELETE", "invitation.revoked", "email", f"({_ACCEPTED}) IS NOT TRUE"),
    ("sessions", "INSERT", "session.started", "", "true"),
    ("sessions", "DELETE", "session.ended", "", "true"),
    # A camera is there once a worker has taken it.
    ("cameras", "UPDATE", "camera.created", "name", "NEW.confirmed AND NOT OLD.confirmed"),
    ("cameras", "UPDATE", "camera.updated", "name", "OLD.confirmed"),
    ("cameras", "DELETE", "camera.deleted", "name", "OLD.confirmed"),
    ("alerts", "INSERT", "alert.created", "name", "true"),
    ("alerts", "UPDATE", "alert.updated", "name", "true"),
    ("alerts", "DELETE", "alert.deleted", "name", "true"),
    ("webhooks", "INSERT", "webhook.created", "name", "true"),
    ("webhooks", "UPDATE", "webhook.updated", "name", "true"),
    ("webhooks", "DELETE", "webhook.deleted", "name", "true"),
    ("corrections", "INSERT", "correction.written", "", "true"),
    ("corrections", "UPDATE", "correction.written", "", "true"),
    ("corrections", "DELETE", "correction.removed", "", "true"),
    ("credit_entries", "INSERT", "credits.granted", "", "NEW.kind = 'grant'"),
)
"""Changes that leave an entry: table, kind, action, the column that names the row, condition."""


def upgrade() -> None:
    """Make the table, and the triggers of all tables that people change."""
    op.create_table(
        "audit_entries",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("owner_id", sa.Uuid(), nullable=False),
        sa.Column(
            "at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("actor_kind", sa.Text(), nullable=False),
        sa.Column("actor_id", sa.Uuid(), nullable=True),
        sa.Column("actor_name", sa.Text(), nullable=True),
        sa.Column("actor_prefix", sa.Text(), nullable=True),
        sa.Column("subject_kind", sa.Text(), nullable=True),
        sa.Column("subject_id", sa.Uuid(), nullable=True),
        sa.Column("subject_name", sa.Text(), nullable=True),
        sa.Column("changes", JSONB(), server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.Column("parameters", JSONB(), server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("request_id", sa.Text(), nullable=True),
        sa.Column("erased", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_entries")),
    )
    op.create_index("ix_audit_entries_owner_id_at_id", "audit_entries", ["owner_id", "at", "id"])
    op.create_index(op.f("ix_audit_entries_at"), "audit_entries", ["at"])
    for statement in (_VALUE, _CHANGE, _HOLD):
        op.execute(statement)
    op.execute(
        "CREATE TRIGGER audit_hold BEFORE UPDATE OR DELETE ON audit_entries"
        " FOR EACH ROW EXECUTE FUNCTION audit_hold()"
    )
    op.execute(
        "CREATE TRIGGER audit_hold_all BEFORE TRUNCATE ON audit_entries"
        " FOR EACH STATEMENT EXECUTE FUNCTION audit_hold()"
    )
    for table, kind, action, name, condition in _CHANGES:
        op.execute(
            f"CREATE TRIGGER {_trigger(kind, action)} AFTER {kind} ON {table}"
            f" FOR EACH ROW WHEN ({condition})"
            f" EXECUTE FUNCTION audit_change('{action}', '{name}', '{{{_IGNORED[table]}}}')"
        )


def downgrade() -> None:
    """Drop all of it, with the entries."""
    for table, kind, action, _, _ in _CHANGES:
        op.execute(f"DROP TRIGGER {_trigger(kind, action)} ON {table}")
    op.drop_table("audit_entries")
    for function in ("audit_change()", "audit_value(jsonb, jsonb)", "audit_hold()"):
        op.execute(f"DROP FUNCTION {function}")


def _trigger(kind: str, action: str) -> str:
    return f"audit_{kind.lower()}_{action.replace('.', '_')}"
