"""Alembic's entry: runs the migrations on the connection that ``api.db.migrate`` hands over."""

from alembic import context

from api.audit.tables import AuditEntry
from api.db.people_tables import Person

# Modules of tables beside the first one count once they are imported.
_, metadata = Person.metadata, AuditEntry.metadata
connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, compare_type=True)
with context.begin_transaction():
    context.run_migrations()
