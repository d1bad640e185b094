"""Alembic migrations: numbered, applied once, never edited."""
