"""Plates are masked in the audit log; records of the outbox have an owner.

Revision: 0023, after 0022. Blocking: writes wait while the entries with plates are masked.
"""

from importlib import import_module

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

_FORMER = import_module("api.db.migrations.versions.0014_audit_log")
_OUTBOX, _ENTRIES, _JOBS = "config_outbox", "audit_entries", "erasure_jobs"
_FORGOTTEN = "ck_erasure_jobs_plate_forgotten"

_PLATE = """
CREATE FUNCTION audit_plate(plate text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
-- As common.plates.normalise.mask_plate.
    SELECT CASE WHEN length(plate) <= 2 THEN repeat('*', length(plate))
        ELSE left(plate, 1) || repeat('*', length(plate) - 2) || right(plate, 1) END
$$
"""

_COUNT = """
CREATE FUNCTION audit_count(kept jsonb, other jsonb) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
-- The number of elements that only the first of two lists has; null if it is 0.
    SELECT nullif(count(*), 0) FROM jsonb_array_elements(coalesce(kept, '[]')) AS element
    WHERE element NOT IN (SELECT jsonb_array_elements(coalesce(other, '[]')))
$$
"""

_CHANGED = """
CREATE FUNCTION audit_changed(subject text, field text, former jsonb, latter jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
-- The entry of one field: no secret, no plate and no text that may contain one.
    SELECT jsonb_strip_nulls(CASE
        WHEN field ~ '_(encrypted|hash)$' THEN '{}'
        WHEN subject = 'alerts' AND field IN ('name', 'description', 'plate_names') THEN '{}'
        WHEN subject = 'alerts' AND field = 'plates' THEN jsonb_build_object(
            'removed', audit_count(former -> field, latter -> field),
            'added', audit_count(latter -> field, former -> field))
        WHEN subject = 'corrections' AND field IN ('reading', 'plate') THEN jsonb_build_object(
            'before', audit_plate(former ->> field), 'after', audit_plate(latter ->> field))
        ELSE jsonb_build_object(
            'before', audit_value(former -> field, latter -> field),
            'after', audit_value(latter -> field, former -> field))
        END)
$$
"""

_FORMER_CHANGE = """CASE
        WHEN field ~ '_(encrypted|hash)$' THEN '{}'::jsonb
        ELSE jsonb_strip_nulls(jsonb_build_object(
            'before', audit_value(former -> field, latter -> field),
            'after', audit_value(latter -> field, former -> field)))
        END"""
_FORMER_COLUMNS = "subject_kind, subject_id, subject_name, changes, address, request_id)"
_FORMER_VALUES = "named ->> TG_ARGV[1], differences, actor ->> 'address', actor ->> 'request_id')"
_VALUES = """CASE WHEN TG_TABLE_NAME <> 'alerts' THEN named ->> TG_ARGV[1] END,
        differences, actor ->> 'address', actor ->> 'request_id',
        CASE WHEN TG_TABLE_NAME IN ('alerts', 'corrections')
                AND current_setting('platestream.plate_hashes', true) <> ''
            THEN jsonb_build_object('plateHashes',
                current_setting('platestream.plate_hashes', true)::jsonb)
            ELSE '{}' END)"""

_FORMER_WAY = """    ELSIF TG_OP = 'UPDATE' THEN
        IF way = 'erasure' AND NEW.erased AND
            to_jsonb(NEW) - '{changes, parameters, subject_name, erased}'::text[]
            = to_jsonb(OLD) - '{changes, parameters, subject_name, erased}'::text[] THEN
            RETURN NEW;
        END IF;
"""

_MASK_ENTRIES = """
UPDATE audit_entries SET
    parameters = parameters || CASE WHEN parameters ? 'plate'
        THEN jsonb_build_object('plate', audit_plate(parameters ->> 'plate')) ELSE '{}' END,
    subject_name = CASE WHEN action NOT LIKE 'alert.%' THEN subject_name END,
    changes = coalesce((
        SELECT jsonb_object_agg(field, CASE
            WHEN action LIKE 'alert.%' AND field IN ('name', 'description', 'plate_names')
                THEN '{}'
            WHEN action LIKE 'alert.%' AND field = 'plates' THEN jsonb_strip_nulls(
                jsonb_build_object('removed', audit_count(value -> 'before', '[]'),
                    'added', audit_count(value -> 'after', '[]')))
            WHEN action LIKE 'correction.%' AND field IN ('reading', 'plate') THEN
                jsonb_strip_nulls(jsonb_build_object(
                    'before', audit_plate(value ->> 'before'),
                    'after', audit_plate(value ->> 'after')))
            ELSE value END)
        FROM jsonb_each(changes) AS change (field, value)), '{}')
WHERE parameters ? 'plate' OR action LIKE 'alert.%' OR action LIKE 'correction.%'
"""

_OWNERS = r"""
UPDATE config_outbox
SET owner_id = substring(encode(value, 'escape') FROM '"ownerId":"([0-9a-f-]{36})"')::uuid
WHERE owner_id IS NULL AND value IS NOT NULL
"""


def upgrade() -> None:
    """Mask the plates of all entries, and find the owner of each record in its content."""
    for statement in (_PLATE, _COUNT, _CHANGED, _change(), _hold()):
        op.execute(statement)
    _without_hold(_MASK_ENTRIES)
    op.drop_column(_ENTRIES, "erased")
    op.create_index(
        "ix_audit_entries_plate_hashes",
        _ENTRIES,
        [sa.text("(parameters -> 'plateHashes')")],
        postgresql_using="gin",
    )
    op.execute("UPDATE erasure_jobs SET plate = NULL WHERE state = 'done'")
    _constrain("(plate IS NULL) = (state = 'done')")
    op.drop_index("ix_config_outbox_replay_owner_id", _OUTBOX)
    op.alter_column(_OUTBOX, "replay_owner_id", new_column_name="owner_id")
    op.execute(_OWNERS)
    op.create_index(
        "ix_config_outbox_owner_id",
        _OUTBOX,
        ["owner_id"],
        postgresql_where=sa.text("owner_id IS NOT NULL"),
    )


def downgrade() -> None:
    """Go back to the former functions; masked plates stay masked."""
    op.drop_index("ix_config_outbox_owner_id", _OUTBOX)
    op.execute("UPDATE config_outbox SET owner_id = NULL WHERE replay_id IS NULL")
    op.alter_column(_OUTBOX, "owner_id", new_column_name="replay_owner_id")
    op.create_index(
        "ix_config_outbox_replay_owner_id",
        _OUTBOX,
        ["replay_owner_id"],
        postgresql_where=sa.text("replay_owner_id IS NOT NULL"),
    )
    _constrain("plate IS NOT NULL OR state = 'done'")
    op.drop_index("ix_audit_entries_plate_hashes", _ENTRIES)
    op.add_column(
        _ENTRIES, sa.Column("erased", sa.Boolean(), server_default=sa.text("false"), nullable=False)
    )
    for statement in (_FORMER._CHANGE, _FORMER._HOLD):
        op.execute(_replacing(statement))
    for function in (
        "audit_changed(text, text, jsonb, jsonb)",
        "audit_count(jsonb, jsonb)",
        "audit_plate(text)",
    ):
        op.execute(f"DROP FUNCTION {function}")


def _change() -> str:
    statement = _replaced(
        _FORMER._CHANGE,
        (_FORMER_CHANGE, "audit_changed(TG_TABLE_NAME, field, former, latter)"),
        (_FORMER_COLUMNS, f"{_FORMER_COLUMNS[:-1]}, parameters)"),
        (_FORMER_VALUES, _VALUES),
    )
    return _replacing(statement)


def _hold() -> str:
    return _replacing(_replaced(_FORMER._HOLD, (_FORMER_WAY, ""), ("Three ways", "Two ways")))


def _replaced(statement: str, *parts: tuple[str, str]) -> str:
    for former, latter in parts:
        assert former in statement
        statement = statement.replace(former, latter)
    return statement


def _replacing(statement: str) -> str:
    return statement.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")


def _without_hold(statement: str) -> None:
    op.execute(f"ALTER TABLE {_ENTRIES} DISABLE TRIGGER audit_hold")
    op.execute(statement)
    op.execute(f"ALTER TABLE {_ENTRIES} ENABLE TRIGGER audit_hold")


def _constrain(condition: str) -> None:
    op.drop_constraint(op.f(_FORGOTTEN), _JOBS)
    op.create_check_constraint(op.f(_FORGOTTEN), _JOBS, condition)
