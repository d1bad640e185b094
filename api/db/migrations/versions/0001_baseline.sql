-- Tables of release 0.1.0, mapped in api/db/tables.py, api/db/people_tables.py, api/audit/tables.py.

CREATE TABLE owners (
    id uuid NOT NULL,
    email text NOT NULL,
    timezone text DEFAULT 'UTC' NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    notification_secret_encrypted text,
    limits jsonb DEFAULT '{}' NOT NULL,
    previous_notification_secret_encrypted text,
    previous_notification_secret_until timestamptz,
    CONSTRAINT pk_owners PRIMARY KEY (id),
    CONSTRAINT uq_owners_email UNIQUE (email)
);

CREATE TABLE people (
    id uuid NOT NULL,
    owner_id uuid NOT NULL,
    email text NOT NULL,
    name text DEFAULT '' NOT NULL,
    role text NOT NULL,
    password_hash text NOT NULL,
    enabled boolean DEFAULT true NOT NULL,
    last_log_in_at timestamptz,
    created_at timestamptz DEFAULT now() NOT NULL,
    oidc_issuer text,
    oidc_subject text,
    email_proven boolean DEFAULT false NOT NULL,
    oidc_unlinked_at timestamptz,
    CONSTRAINT pk_people PRIMARY KEY (id),
    CONSTRAINT fk_people_owner_id FOREIGN KEY (owner_id) REFERENCES owners (id) ON DELETE CASCADE,
    CONSTRAINT ck_people_oidc_identity_whole CHECK ((oidc_issuer IS NULL) = (oidc_subject IS NULL)),
    CONSTRAINT ck_people_role_known CHECK (role IN ('viewer', 'operator', 'administrator'))
);
CREATE INDEX ix_people_email ON people (email);
CREATE INDEX ix_people_owner_id_created_at ON people (owner_id, created_at);
CREATE UNIQUE INDEX uq_people_oidc_identity ON people (oidc_issuer, oidc_subject);
CREATE UNIQUE INDEX uq_people_owner_id_email ON people (owner_id, email);
CREATE UNIQUE INDEX uq_people_proven_email ON people (email) WHERE email_proven;

CREATE TABLE invitations (
    id uuid NOT NULL,
    owner_id uuid NOT NULL,
    email text NOT NULL,
    role text NOT NULL,
    token_hash bytea NOT NULL,
    invited_by text NOT NULL,
    expires_at timestamptz NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    emailed_token_hash bytea,
    CONSTRAINT pk_invitations PRIMARY KEY (id),
    CONSTRAINT uq_invitations_emailed_token_hash UNIQUE (emailed_token_hash),
    CONSTRAINT uq_invitations_token_hash UNIQUE (token_hash),
    CONSTRAINT fk_invitations_owner_id FOREIGN KEY (owner_id) REFERENCES owners (id) ON DELETE CASCADE,
    CONSTRAINT ck_invitations_role_known CHECK (role IN ('viewer', 'operator', 'administrator'))
);
CREATE INDEX ix_invitations_expires_at ON invitations (expires_at);
CREATE UNIQUE INDEX uq_invitations_owner_id_email ON invitations (owner_id, email);

CREATE TABLE sessions (
    id uuid NOT NULL,
    owner_id uuid NOT NULL,
    token_hash bytea NOT NULL,
    expires_at timestamptz NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    person_id uuid NOT NULL,
    CONSTRAINT pk_sessions PRIMARY KEY (id),
    CONSTRAINT uq_sessions_token_hash UNIQUE (token_hash),
    CONSTRAINT fk_sessions_owner_id FOREIGN KEY (owner_id) REFERENCES owners (id) ON DELETE CASCADE,
    CONSTRAINT fk_sessions_person_id FOREIGN KEY (person_id) REFERENCES people (id) ON DELETE CASCADE
);
CREATE INDEX ix_sessions_expires_at ON sessions (expires_at);
CREATE INDEX ix_sessions_owner_id ON sessions (owner_id);
CREATE INDEX ix_sessions_person_id_created_at ON sessions (person_id, created_at);

CREATE TABLE api_keys (
    id uuid NOT NULL,
    owner_id uuid NOT NULL,
    name text NOT NULL,
    key_hash bytea NOT NULL,
    prefix text NOT NULL,
    scopes text[] NOT NULL,
    enabled boolean DEFAULT true NOT NULL,
    expires_at timestamptz,
    last_used_at timestamptz,
    created_at timestamptz DEFAULT now() NOT NULL,
    ancestors uuid[] DEFAULT '{}' NOT NULL,
    CONSTRAINT pk_api_keys PRIMARY KEY (id),
    CONSTRAINT uq_api_keys_key_hash UNIQUE (key_hash),
    CONSTRAINT fk_api_keys_owner_id FOREIGN KEY (owner_id) REFERENCES owners (id) ON DELETE CASCADE
);
CREATE INDEX ix_api_keys_owner_id ON api_keys (owner_id);

CREATE TABLE cameras (
    id uuid NOT NULL,
    owner_id uuid NOT NULL,
    identifier text NOT NULL,
    identifier_derived boolean NOT NULL,
    name text NOT NULL,
    location text DEFAULT '' NOT NULL,
    stream_url_encrypted text NOT NULL,
    stream_url_shown text NOT NULL,
    enabled boolean DEFAULT true NOT NULL,
    revision bigint DEFAULT 1 NOT NULL,
    sample_fps double precision,
    min_plate_width_px bigint DEFAULT 0 NOT NULL,
    zones jsonb DEFAULT '[]' NOT NULL,
    timezone text,
    confirmed boolean DEFAULT false NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    updated_at timestamptz DEFAULT now() NOT NULL,
    subscription_credits bigint DEFAULT 0 NOT NULL,
    paid_until timestamptz,
    CONSTRAINT pk_cameras PRIMARY KEY (id),
    CONSTRAINT uq_cameras_owner_id_identifier UNIQUE (owner_id, identifier),
    CONSTRAINT fk_cameras_owner_id FOREIGN KEY (owner_id) REFERENCES owners (id) ON DELETE CASCADE,
    CONSTRAINT ck_cameras_revision_positive CHECK (revision >= 1)
);
CREATE INDEX ix_cameras_unconfirmed_created_at ON cameras (created_at) WHERE NOT confirmed;

CREATE TABLE alerts (
    id uuid NOT NULL,
    owner_id uuid NOT NULL,
    name text NOT NULL,
    description text DEFAULT '' NOT NULL,
    enabled boolean DEFAULT true NOT NULL,
    plate_match_mode text NOT NULL,
    plates text[] NOT NULL,
    camera_scope text NOT NULL,
    camera_ids uuid[] NOT NULL,
    schedule_enabled boolean NOT NULL,
    schedule jsonb NOT NULL,
    timezone text,
    min_confidence double precision NOT NULL,
    cooldown_minutes double precision NOT NULL,
    cooldown_scope text NOT NULL,
    match_tolerance bigint NOT NULL,
    notifications_encrypted text NOT NULL,
    trigger_count bigint DEFAULT 0 NOT NULL,
    last_triggered_at timestamptz,
    revision bigint DEFAULT 1 NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    updated_at timestamptz DEFAULT now() NOT NULL,
    early boolean DEFAULT false NOT NULL,
    rule_cost bigint DEFAULT 0 NOT NULL,
    plate_names jsonb DEFAULT '{}' NOT NULL,
    CONSTRAINT pk_alerts PRIMARY KEY (id),
    CONSTRAINT fk_alerts_owner_id FOREIGN KEY (owner_id) REFERENCES owners (id) ON DELETE CASCADE,
    CONSTRAINT ck_alerts_revision_positive CHECK (revision >= 1)
);
CREATE INDEX ix_alerts_owner_id_created_at ON alerts (owner_id, created_at);

CREATE TABLE webhooks (
    id uuid NOT NULL,
    owner_id uuid NOT NULL,
    name text NOT NULL,
    url_encrypted text NOT NULL,
    secret_encrypted text NOT NULL,
    headers_encrypted text NOT NULL,
    events text[] NOT NULL,
    enabled boolean DEFAULT true NOT NULL,
    failure_count bigint DEFAULT 0 NOT NULL,
    last_delivery_at timestamptz,
    last_delivery_status bigint,
    disabled_reason text,
    revision bigint DEFAULT 1 NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    updated_at timestamptz DEFAULT now() NOT NULL,
    previous_secret_encrypted text,
    previous_secret_until timestamptz,
    CONSTRAINT pk_webhooks PRIMARY KEY (id),
    CONSTRAINT fk_webhooks_owner_id FOREIGN KEY (owner_id) REFERENCES owners (id) ON DELETE CASCADE,
    CONSTRAINT ck_webhooks_revision_positive CHECK (revision >= 1)
);
CREATE INDEX ix_webhooks_owner_id_created_at ON webhooks (owner_id, created_at);

CREATE TABLE corrections (
    owner_id uuid NOT NULL,
    recognition_id uuid NOT NULL,
    camera_id uuid NOT NULL,
    captured_ms bigint NOT NULL,
    reading text NOT NULL,
    photo_key text,
    crop_key text,
    plate text,
    region text,
    corrected_by text NOT NULL,
    corrected_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_corrections PRIMARY KEY (owner_id, recognition_id),
    CONSTRAINT fk_corrections_owner_id FOREIGN KEY (owner_id) REFERENCES owners (id) ON DELETE CASCADE
);
CREATE INDEX ix_corrections_place ON corrections (owner_id, captured_ms, recognition_id);

CREATE TABLE credit_accounts (
    owner_id uuid NOT NULL,
    balance bigint DEFAULT 0 NOT NULL,
    reserved bigint DEFAULT 0 NOT NULL,
    CONSTRAINT pk_credit_accounts PRIMARY KEY (owner_id),
    CONSTRAINT fk_credit_accounts_owner_id FOREIGN KEY (owner_id) REFERENCES owners (id) ON DELETE CASCADE,
    CONSTRAINT ck_credit_accounts_balance_covers_reserved CHECK (balance >= reserved),
    CONSTRAINT ck_credit_accounts_reserved_not_negative CHECK (reserved >= 0)
);

CREATE TABLE credit_entries (
    id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
    owner_id uuid NOT NULL,
    delta bigint NOT NULL,
    balance_after bigint NOT NULL,
    kind text NOT NULL,
    reason text NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_credit_entries PRIMARY KEY (id),
    CONSTRAINT fk_credit_entries_owner_id FOREIGN KEY (owner_id) REFERENCES owners (id) ON DELETE CASCADE
);
CREATE INDEX ix_credit_entries_owner_id_id ON credit_entries (owner_id, id);

CREATE TABLE credit_reservations (
    id uuid NOT NULL,
    owner_id uuid NOT NULL,
    amount bigint NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT pk_credit_reservations PRIMARY KEY (id),
    CONSTRAINT fk_credit_reservations_owner_id FOREIGN KEY (owner_id) REFERENCES owners (id) ON DELETE CASCADE
);
CREATE INDEX ix_credit_reservations_expires_at ON credit_reservations (expires_at);
CREATE INDEX ix_credit_reservations_owner_id ON credit_reservations (owner_id);

CREATE TABLE idempotency_keys (
    owner_id uuid NOT NULL,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    attempt uuid NOT NULL,
    answer bytea,
    expires_at timestamptz NOT NULL,
    CONSTRAINT pk_idempotency_keys PRIMARY KEY (owner_id, key),
    CONSTRAINT fk_idempotency_keys_owner_id FOREIGN KEY (owner_id) REFERENCES owners (id) ON DELETE CASCADE
);
CREATE INDEX ix_idempotency_keys_expires_at ON idempotency_keys (expires_at);

CREATE TABLE erasure_jobs (
    id uuid NOT NULL,
    owner_id uuid NOT NULL,
    plate text,
    plate_masked text NOT NULL,
    before_ms bigint NOT NULL,
    state text DEFAULT 'waiting' NOT NULL,
    requested_by text NOT NULL,
    requested_at timestamptz DEFAULT now() NOT NULL,
    leased_until timestamptz,
    attempts bigint DEFAULT 0 NOT NULL,
    error text,
    counts jsonb,
    finished_at timestamptz,
    CONSTRAINT pk_erasure_jobs PRIMARY KEY (id),
    CONSTRAINT fk_erasure_jobs_owner_id FOREIGN KEY (owner_id) REFERENCES owners (id) ON DELETE CASCADE,
    CONSTRAINT ck_erasure_jobs_plate_forgotten CHECK ((plate IS NULL) = (state = 'done')),
    CONSTRAINT ck_erasure_jobs_state_known CHECK (state IN ('waiting', 'running', 'done'))
);
CREATE INDEX ix_erasure_jobs_open ON erasure_jobs (owner_id, requested_at) WHERE state <> 'done';
CREATE INDEX ix_erasure_jobs_owner_id ON erasure_jobs (owner_id);

CREATE TABLE config_outbox (
    id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
    topic text NOT NULL,
    key text NOT NULL,
    value bytea,
    created_at timestamptz DEFAULT now() NOT NULL,
    error text,
    owner_id uuid,
    replay_id uuid,
    replay_position bigint DEFAULT -1 NOT NULL,
    CONSTRAINT pk_config_outbox PRIMARY KEY (id)
);
CREATE INDEX ix_config_outbox_owner_id ON config_outbox (owner_id) WHERE owner_id IS NOT NULL;
CREATE INDEX ix_config_outbox_turn ON config_outbox (replay_position, id) WHERE error IS NULL;

CREATE TABLE audit_entries (
    id uuid NOT NULL,
    owner_id uuid NOT NULL,
    at timestamptz DEFAULT clock_timestamp() NOT NULL,
    action text NOT NULL,
    actor_kind text NOT NULL,
    actor_id uuid,
    actor_name text,
    actor_prefix text,
    subject_kind text,
    subject_id uuid,
    subject_name text,
    changes jsonb DEFAULT '{}' NOT NULL,
    parameters jsonb DEFAULT '{}' NOT NULL,
    address text,
    request_id text,
    CONSTRAINT pk_audit_entries PRIMARY KEY (id)
);
CREATE INDEX ix_audit_entries_at ON audit_entries (at);
CREATE INDEX ix_audit_entries_owner_id_action_at ON audit_entries (owner_id, action text_pattern_ops, at);
CREATE INDEX ix_audit_entries_owner_id_actor_at ON audit_entries (owner_id, actor_id, at);
CREATE INDEX ix_audit_entries_owner_id_actor_name_at ON audit_entries (owner_id, lower(actor_name), at);
CREATE INDEX ix_audit_entries_owner_id_at_id ON audit_entries (owner_id, at, id);
CREATE INDEX ix_audit_entries_owner_id_subject_at
    ON audit_entries (owner_id, subject_id, at) WHERE subject_id IS NOT NULL;
CREATE INDEX ix_audit_entries_plate_hashes ON audit_entries USING gin ((parameters -> 'plateHashes'));

-- The audit log. Triggers write an entry for each change of a table that people can change.

CREATE FUNCTION audit_value(one jsonb, other jsonb)
RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
-- The first value, or, if both are lists, its elements that are not in the other. Null if very long.
    SELECT CASE WHEN length(found::text) <= 20000 THEN found END FROM (
        SELECT CASE WHEN jsonb_typeof(one) = 'array' AND jsonb_typeof(other) = 'array'
            THEN (SELECT coalesce(jsonb_agg(element), '[]')
                  FROM jsonb_array_elements(one) AS element
                  WHERE element NOT IN (SELECT jsonb_array_elements(other)))
            ELSE one END
    ) AS difference (found)
$$;

CREATE FUNCTION audit_count(one jsonb, other jsonb)
RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
-- Number of elements that are only in the first list; null if it is 0.
    SELECT nullif(count(*), 0) FROM jsonb_array_elements(coalesce(one, '[]')) AS element
    WHERE element NOT IN (SELECT jsonb_array_elements(coalesce(other, '[]')))
$$;

CREATE FUNCTION audit_plate(plate text)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
-- Like common.plates.normalise.mask_plate.
    SELECT CASE WHEN length(plate) <= 2 THEN repeat('*', length(plate))
        ELSE left(plate, 1) || repeat('*', length(plate) - 2) || right(plate, 1) END
$$;

CREATE FUNCTION audit_changed(subject text, field text, former jsonb, latter jsonb)
RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
-- The change of one column, without secrets, plates and text that may contain plates.
    SELECT jsonb_strip_nulls(CASE
        WHEN field ~ '_(encrypted|hash)$' THEN '{}'
        WHEN subject = 'alerts' AND field NOT IN
                ('plate_match_mode', 'camera_scope', 'cooldown_scope', 'timezone')
            AND (field = 'plate_names'
                OR 'string' IN (jsonb_typeof(former -> field), jsonb_typeof(latter -> field)))
            THEN '{}'
        WHEN subject = 'alerts' AND field = 'plates' THEN jsonb_build_object(
            'removed', audit_count(former -> field, latter -> field),
            'added', audit_count(latter -> field, former -> field))
        WHEN subject = 'corrections' AND field IN ('reading', 'plate') THEN jsonb_build_object(
            'before', audit_plate(former ->> field), 'after', audit_plate(latter ->> field))
        ELSE jsonb_build_object(
            'before', audit_value(former -> field, latter -> field),
            'after', audit_value(latter -> field, former -> field))
        END)
$$;

CREATE FUNCTION audit_change()
RETURNS trigger LANGUAGE plpgsql AS $$
-- Arguments: the action, the column with the row's name, and the columns to omit.
DECLARE
    actor jsonb := coalesce(nullif(current_setting('platestream.actor', true), ''),
                            '{"kind": "database"}');
    former jsonb := '{}';
    latter jsonb := '{}';
    named jsonb;
    differences jsonb;
BEGIN
    -- Rows deleted by a cascade are covered by the entry of their parent. Rows that the service
    -- deletes have expired.
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
    SELECT coalesce(jsonb_object_agg(field, audit_changed(TG_TABLE_NAME, field, former, latter)), '{}')
    INTO differences
    FROM jsonb_object_keys(named) AS field
    WHERE former -> field IS DISTINCT FROM latter -> field
        AND NOT field = ANY (TG_ARGV[2]::text[])
        AND NOT field = ANY ('{id, owner_id, created_at, updated_at, revision}');
    IF TG_OP = 'UPDATE' AND differences = '{}' THEN
        RETURN NULL;
    END IF;
    INSERT INTO audit_entries (id, owner_id, action, actor_kind, actor_id, actor_name,
        actor_prefix, subject_kind, subject_id, subject_name, changes, address, request_id, parameters)
    VALUES (gen_random_uuid(), (coalesce(named ->> 'owner_id', named ->> 'id'))::uuid, TG_ARGV[0],
        actor ->> 'kind', (actor ->> 'id')::uuid, actor ->> 'name', actor ->> 'prefix',
        split_part(TG_ARGV[0], '.', 1),
        -- Rows of the credit ledger have a number, not an ID.
        CASE WHEN TG_TABLE_NAME <> 'credit_entries'
            THEN (coalesce(named ->> 'id', named ->> 'recognition_id'))::uuid END,
        CASE WHEN TG_TABLE_NAME <> 'alerts' THEN named ->> TG_ARGV[1] END,
        differences, actor ->> 'address', actor ->> 'request_id',
        CASE WHEN TG_TABLE_NAME IN ('alerts', 'corrections')
                AND current_setting('platestream.plate_hashes', true) <> ''
            THEN jsonb_build_object('plateHashes',
                current_setting('platestream.plate_hashes', true)::jsonb)
            ELSE '{}' END);
    RETURN NULL;
END
$$;

CREATE FUNCTION audit_hold()
RETURNS trigger LANGUAGE plpgsql AS $$
-- Deletes by retention and with the account are allowed. Their code sets audit_way.
DECLARE
    way text := current_setting('platestream.audit_way', true);
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF way = 'account' OR (way = 'retention' AND OLD.at < now() - interval '30 days') THEN
            RETURN OLD;
        END IF;
    END IF;
    RAISE EXCEPTION 'the audit log cannot be changed' USING ERRCODE = 'insufficient_privilege';
END
$$;

CREATE TRIGGER audit_hold BEFORE UPDATE OR DELETE ON audit_entries FOR EACH ROW
    EXECUTE FUNCTION audit_hold();
CREATE TRIGGER audit_hold_all BEFORE TRUNCATE ON audit_entries FOR EACH STATEMENT
    EXECUTE FUNCTION audit_hold();
CREATE TRIGGER audit_insert_account_created AFTER INSERT ON owners FOR EACH ROW
    EXECUTE FUNCTION audit_change('account.created', 'email', '{notification_secret_encrypted}');
CREATE TRIGGER audit_update_account_updated AFTER UPDATE ON owners FOR EACH ROW
    WHEN (OLD.notification_secret_encrypted IS NOT NULL OR NEW.notification_secret_encrypted IS NULL)
    EXECUTE FUNCTION audit_change('account.updated', 'email', '{previous_notification_secret_encrypted}');
CREATE TRIGGER audit_insert_person_joined AFTER INSERT ON people FOR EACH ROW
    EXECUTE FUNCTION audit_change('person.joined', 'email', '{last_log_in_at, email_proven, oidc_unlinked_at}');
CREATE TRIGGER audit_update_person_updated AFTER UPDATE ON people FOR EACH ROW
    EXECUTE FUNCTION audit_change('person.updated', 'email', '{last_log_in_at, email_proven, oidc_unlinked_at}');
CREATE TRIGGER audit_delete_person_removed AFTER DELETE ON people FOR EACH ROW
    EXECUTE FUNCTION audit_change('person.removed', 'email', '{last_log_in_at, email_proven, oidc_unlinked_at}');
CREATE TRIGGER audit_insert_invitation_created AFTER INSERT ON invitations FOR EACH ROW
    EXECUTE FUNCTION audit_change('invitation.created', 'email', '{token_hash, emailed_token_hash, invited_by}');
CREATE TRIGGER audit_delete_invitation_revoked AFTER DELETE ON invitations FOR EACH ROW
    WHEN ((coalesce(nullif(current_setting('platestream.actor', true), ''), '{}')::jsonb ->> 'name' = OLD.email)
        IS NOT TRUE)
    EXECUTE FUNCTION audit_change('invitation.revoked', 'email', '{token_hash, emailed_token_hash, invited_by}');
CREATE TRIGGER audit_insert_session_started AFTER INSERT ON sessions FOR EACH ROW
    EXECUTE FUNCTION audit_change('session.started', '', '{person_id, token_hash, expires_at}');
CREATE TRIGGER audit_delete_session_ended AFTER DELETE ON sessions FOR EACH ROW
    EXECUTE FUNCTION audit_change('session.ended', '', '{person_id, token_hash, expires_at}');
CREATE TRIGGER audit_insert_key_created AFTER INSERT ON api_keys FOR EACH ROW
    EXECUTE FUNCTION audit_change('key.created', 'name', '{key_hash, ancestors, last_used_at}');
CREATE TRIGGER audit_update_key_updated AFTER UPDATE ON api_keys FOR EACH ROW
    EXECUTE FUNCTION audit_change('key.updated', 'name', '{key_hash, ancestors, last_used_at}');
CREATE TRIGGER audit_delete_key_revoked AFTER DELETE ON api_keys FOR EACH ROW
    EXECUTE FUNCTION audit_change('key.revoked', 'name', '{key_hash, ancestors, last_used_at}');
CREATE TRIGGER audit_update_camera_created AFTER UPDATE ON cameras FOR EACH ROW
    WHEN (NEW.confirmed AND NOT OLD.confirmed)
    EXECUTE FUNCTION audit_change('camera.created', 'name',
        '{confirmed, identifier_derived, subscription_credits, paid_until}');
CREATE TRIGGER audit_update_camera_updated AFTER UPDATE ON cameras FOR EACH ROW WHEN (OLD.confirmed)
    EXECUTE FUNCTION audit_change('camera.updated', 'name',
        '{confirmed, identifier_derived, subscription_credits, paid_until}');
CREATE TRIGGER audit_delete_camera_deleted AFTER DELETE ON cameras FOR EACH ROW WHEN (OLD.confirmed)
    EXECUTE FUNCTION audit_change('camera.deleted', 'name',
        '{confirmed, identifier_derived, subscription_credits, paid_until}');
CREATE TRIGGER audit_insert_alert_created AFTER INSERT ON alerts FOR EACH ROW
    EXECUTE FUNCTION audit_change('alert.created', 'name', '{rule_cost, trigger_count, last_triggered_at}');
CREATE TRIGGER audit_update_alert_updated AFTER UPDATE ON alerts FOR EACH ROW
    EXECUTE FUNCTION audit_change('alert.updated', 'name', '{rule_cost, trigger_count, last_triggered_at}');
CREATE TRIGGER audit_delete_alert_deleted AFTER DELETE ON alerts FOR EACH ROW
    EXECUTE FUNCTION audit_change('alert.deleted', 'name', '{rule_cost, trigger_count, last_triggered_at}');
CREATE TRIGGER audit_insert_webhook_created AFTER INSERT ON webhooks FOR EACH ROW
    EXECUTE FUNCTION audit_change('webhook.created', 'name',
        '{failure_count, last_delivery_at, last_delivery_status, previous_secret_encrypted}');
CREATE TRIGGER audit_update_webhook_updated AFTER UPDATE ON webhooks FOR EACH ROW
    EXECUTE FUNCTION audit_change('webhook.updated', 'name',
        '{failure_count, last_delivery_at, last_delivery_status, previous_secret_encrypted}');
CREATE TRIGGER audit_delete_webhook_deleted AFTER DELETE ON webhooks FOR EACH ROW
    EXECUTE FUNCTION audit_change('webhook.deleted', 'name',
        '{failure_count, last_delivery_at, last_delivery_status, previous_secret_encrypted}');
CREATE TRIGGER audit_insert_correction_written AFTER INSERT ON corrections FOR EACH ROW
    EXECUTE FUNCTION audit_change('correction.written', '',
        '{recognition_id, camera_id, captured_ms, photo_key, crop_key, corrected_by, corrected_at}');
CREATE TRIGGER audit_update_correction_written AFTER UPDATE ON corrections FOR EACH ROW
    EXECUTE FUNCTION audit_change('correction.written', '',
        '{recognition_id, camera_id, captured_ms, photo_key, crop_key, corrected_by, corrected_at}');
CREATE TRIGGER audit_delete_correction_removed AFTER DELETE ON corrections FOR EACH ROW
    EXECUTE FUNCTION audit_change('correction.removed', '',
        '{recognition_id, camera_id, captured_ms, photo_key, crop_key, corrected_by, corrected_at}');
CREATE TRIGGER audit_insert_credits_granted AFTER INSERT ON credit_entries FOR EACH ROW WHEN (NEW.kind = 'grant')
    EXECUTE FUNCTION audit_change('credits.granted', '', '{kind, balance_after}');
