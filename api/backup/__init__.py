"""Backups of an installation: PostgreSQL, ClickHouse and the images, as files in a folder."""
