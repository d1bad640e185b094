"""Runs migrations for Alembic, on the connection that ``api.db.migrate`` passes."""

from alembic import context

from api.audit.tables import AuditEntry
from api.db.people_tables import Person

# The metadata contains the tables of a module once the module is imported.
_, metadata = Person.metadata, AuditEntry.metadata
connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, compare_type=True)
with context.begin_transaction():
    context.run_migrations()
