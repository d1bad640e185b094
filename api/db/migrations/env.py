"""Alembic's entry: runs the migrations on the connection that ``api.db.migrate`` hands over."""

from alembic import context

from api.db.people_tables import Person

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=Person.metadata, compare_type=True)
with context.begin_transaction():
    context.run_migrations()
