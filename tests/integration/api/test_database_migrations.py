"""The migrations: up, down, up; two at once; and the same tables as the mappings."""

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, inspect, text

from api.db.engine import open_engine
from api.db.migrate import current_revision, migrate
from api.db.tables import Base
from common.settings import DatabaseSettings
from tests.records import OWNER

pytestmark = pytest.mark.integration


def test_migrations_can_be_rolled_back_and_applied_again(
    database_settings: DatabaseSettings,
) -> None:
    engine = open_engine(database_settings)
    newest = migrate(engine)
    assert migrate(engine, "base") == "base"
    with engine.connect() as connection:
        assert set(inspect(connection).get_table_names()) <= {"alembic_version"}

    assert migrate(engine) == newest
    engine.dispose()


def test_two_at_once_leave_one_result(database_settings: DatabaseSettings) -> None:
    engines = [open_engine(database_settings) for _ in range(2)]
    with ThreadPoolExecutor(2) as threads:
        revisions = set(threads.map(migrate, engines))

    assert len(revisions) == 1
    with engines[0].connect() as connection:
        assert {current_revision(connection)} == revisions
    for engine in engines:
        engine.dispose()


def test_the_migrations_make_what_the_mappings_say(api_database: DatabaseSettings) -> None:
    engine = open_engine(api_database)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
    engine.dispose()


def test_keys_from_before_the_column_have_no_ancestors_and_survive_its_removal(
    database_settings: DatabaseSettings,
) -> None:
    engine = open_engine(database_settings)
    migrate(engine, "0005")
    with engine.begin() as connection:
        connection.execute(
            text("INSERT INTO owners (id, email, password_hash) VALUES (:id, 'a@b.example', '')"),
            {"id": OWNER},
        )
        connection.execute(
            text(
                "INSERT INTO api_keys (id, owner_id, name, key_hash, prefix, scopes)"
                " VALUES (:id, :id, 'Gate', 'hash', 'pk_', '{cameras:read}')"
            ),
            {"id": OWNER},
        )
    migrate(engine, "0006")
    with engine.connect() as connection:
        assert connection.scalars(text("SELECT ancestors FROM api_keys")).all() == [[]]
    migrate(engine, "0005")
    with engine.connect() as connection:
        assert connection.scalars(text("SELECT name FROM api_keys")).all() == ["Gate"]
        columns = {column["name"] for column in inspect(connection).get_columns("api_keys")}
    assert "ancestors" not in columns
    engine.dispose()


def test_who_had_an_account_becomes_its_administrator_and_has_it_again_after_a_way_back(
    database_settings: DatabaseSettings,
) -> None:
    engine = open_engine(database_settings)
    migrate(engine, "0012")
    first, second = uuid4(), uuid4()
    owners = {first: "a@b.example", second: "c@d.example"}
    with engine.begin() as connection:
        for owner, email in owners.items():
            connection.execute(
                text("INSERT INTO owners (id, email, password_hash) VALUES (:id, :email, :hash)"),
                {"id": owner, "email": email, "hash": f"hash of {email}"},
            )
            connection.execute(
                text(
                    "INSERT INTO sessions (id, owner_id, token_hash, expires_at)"
                    " VALUES (:id, :id, :token, now())"
                ),
                {"id": owner, "token": email.encode()},
            )
    migrate(engine, "0013")
    with engine.begin() as connection:
        assert _people(connection) == {
            (first, "a@b.example", "administrator", "hash of a@b.example"),
            (second, "c@d.example", "administrator", "hash of c@d.example"),
        }
        of_whom = "SELECT sessions.owner_id, people.owner_id FROM sessions JOIN people ON person_id"
        for one, other in connection.execute(text(f"{of_whom} = people.id")).all():
            assert one == other
        _join(connection, first, "viewer")
        _join(connection, second, "administrator")
        gone = text("DELETE FROM people WHERE email = 'c@d.example'")
        connection.execute(gone)
    migrate(engine, "0012")
    with engine.connect() as connection:
        kept = connection.execute(text("SELECT email, password_hash FROM owners")).all()
        tokens = connection.scalars(text("SELECT token_hash FROM sessions")).all()
    assert {tuple(row) for row in kept} == {
        ("a@b.example", "hash of a@b.example"),
        ("c@d.example", "hash of administrator"),
    }
    assert {bytes(token) for token in tokens} == {b"a@b.example", b"administrator"}
    migrate(engine)
    with engine.connect() as connection:
        assert _people(connection) == {
            (first, "a@b.example", "administrator", "hash of a@b.example"),
            (second, "c@d.example", "administrator", "hash of administrator"),
        }
    engine.dispose()


def test_plates_of_former_entries_are_masked_and_records_find_their_owner(
    database_settings: DatabaseSettings,
) -> None:
    engine = open_engine(database_settings)
    migrate(engine, "0020")
    entries = (
        ("recognitions.searched", "{}", '{"plate": "AB12CD", "limit": "5"}', None),
        (
            "alert.updated",
            '{"plates": {"before": ["AB12CD"], "after": ["XY99Z", "CD34EF"]},'
            ' "plate_names": {"after": {"XY99Z": "Ana"}}, "name": {"after": "Xy 99Z"},'
            ' "description": {"after": "UGL 2559"}, "min_confidence": {"after": 0.9}}',
            "{}",
            "Plate AB-12 CD",
        ),
        ("correction.written", '{"plate": {"before": "AB12CD", "after": "XY99Z"}}', "{}", None),
    )
    statement = (
        "INSERT INTO audit_entries (id, owner_id, action, actor_kind, changes, parameters,"
        " subject_name) VALUES (gen_random_uuid(), :owner, :action, 'key', CAST(:changes AS jsonb),"
        " CAST(:parameters AS jsonb), :name)"
    )
    row = "INSERT INTO config_outbox (topic, key, value) VALUES ('recognitions', 'k', :value)"
    value = b'{"plate":"\xc3\x84B","ownerId":"%b"}' % str(OWNER).encode()
    with engine.begin() as connection:
        for action, changes, parameters, name in entries:
            given = {"action": action, "changes": changes, "parameters": parameters, "name": name}
            connection.execute(text(statement), {"owner": OWNER, **given})
        connection.execute(text(row), {"value": value})

    migrate(engine, "0023")

    with engine.connect() as connection:
        found = connection.execute(
            text("SELECT action, changes, parameters, subject_name FROM audit_entries")
        )
        told = {action: (changes, given, name) for action, changes, given, name in found}
        owners = connection.scalars(text("SELECT owner_id FROM config_outbox")).all()
    assert told == {
        "recognitions.searched": ({}, {"plate": "A****D", "limit": "5"}, None),
        "alert.updated": (
            {
                "plates": {"removed": 1, "added": 2},
                "plate_names": {},
                "name": {},
                "description": {},
                "min_confidence": {"after": 0.9},
            },
            {},
            None,
        ),
        "correction.written": ({"plate": {"before": "A****D", "after": "X***Z"}}, {}, None),
    }
    assert owners == [OWNER]
    engine.dispose()


def test_addresses_of_before_are_proven_where_someone_vouched_for_them(
    database_settings: DatabaseSettings,
) -> None:
    engine = open_engine(database_settings)
    migrate(engine, "0020")
    owner = uuid4()
    with engine.begin() as connection:
        connection.execute(
            text("INSERT INTO owners (id, email) VALUES (:id, 'a@b.example')"), {"id": owner}
        )
        for email, password, subject, enabled in (
            ("a@b.example", "hash", None, True),
            ("invited@b.example", "hash", None, True),
            ("linked@b.example", "", "17", True),
            ("unlinked@b.example", "", None, True),
            ("closed@b.example", "", None, False),
        ):
            connection.execute(
                text(
                    "INSERT INTO people"
                    " (id, owner_id, email, role, password_hash, oidc_issuer, oidc_subject,"
                    " enabled) VALUES (gen_random_uuid(), :owner, :email, 'viewer', :password,"
                    " 'https://login.example.com' || CAST(:subject AS text),"
                    " CAST(:subject AS text), :enabled)"
                ),
                {
                    "owner": owner,
                    "email": email,
                    "password": password,
                    "subject": subject,
                    "enabled": enabled,
                },
            )
    migrate(engine, "0022")
    with engine.begin() as connection:
        proven = connection.scalars(text("SELECT email FROM people WHERE email_proven")).all()
        entries = "SELECT count(*) FROM audit_entries WHERE action = 'person.updated'"
        assert connection.scalar(text(entries)) == 0
        other = {"other": uuid4()}
        connection.execute(
            text("INSERT INTO owners (id, email) VALUES (:other, 'c@d.example')"), other
        )
        connection.execute(
            text(
                "INSERT INTO people (id, owner_id, email, role, password_hash)"
                " VALUES (gen_random_uuid(), :other, 'a@b.example', 'viewer', 'claimed')"
            ),
            other,
        )
    migrate(engine, "0020")
    with engine.connect() as connection:
        of_address = "SELECT password_hash FROM people WHERE email = 'a@b.example'"
        kept = connection.scalars(text(of_address)).all()
    engine.dispose()

    assert set(proven) == {"a@b.example", "linked@b.example", "unlinked@b.example"}
    assert kept == ["hash"]


def _people(connection: Connection) -> set[tuple[UUID, str, str, str]]:
    found = connection.execute(text("SELECT owner_id, email, role, password_hash FROM people"))
    return {(row[0], row[1], row[2], row[3]) for row in found}


def _join(connection: Connection, owner: UUID, role: str) -> None:
    """Add a person of a role, with a session."""
    values = {"id": uuid4(), "owner": owner, "role": role, "token": role.encode()}
    connection.execute(
        text(
            "INSERT INTO people (id, owner_id, email, role, password_hash)"
            " VALUES (:id, :owner, :role, :role, 'hash of ' || :role)"
        ),
        values,
    )
    connection.execute(
        text(
            "INSERT INTO sessions (id, owner_id, person_id, token_hash, expires_at)"
            " VALUES (:id, :owner, :id, :token, now())"
        ),
        values,
    )
