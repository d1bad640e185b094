"""Log messages for database errors."""

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from api.db.database import Database

pytestmark = pytest.mark.integration


async def test_a_fault_names_no_values(database: Database) -> None:
    insert = text("INSERT INTO people (id, email, password_hash) VALUES (:id, :email, :hash)")
    values = {"id": "none", "email": "me@example.com", "hash": "the hash of a password"}
    with pytest.raises(DBAPIError) as fault:
        await database.run(lambda session: session.execute(insert, values))

    assert "INSERT INTO people" in str(fault.value)
    assert values["hash"] not in str(fault.value)
    assert values["email"] not in str(fault.value)
