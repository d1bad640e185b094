"""``python -m analytics_sql migrate [--dry-run]``: migrates the configured ClickHouse database."""

import argparse
import sys

from analytics_sql.client import connect_for_schema
from analytics_sql.cluster import cluster_of
from analytics_sql.migrate import create_database, migrate
from analytics_sql.settings import AnalyticsSettings
from common.errors import (
    EXIT_MISCONFIGURED,
    EXIT_TEMPORARY_FAILURE,
    MisconfiguredError,
    TransientError,
)
from common.logs import configure_logging
from common.settings import load_settings


def main() -> None:
    """Run the given command. Exit with 78 if misconfigured, or 75 after a temporary failure."""
    parser = argparse.ArgumentParser(prog="python -m analytics_sql")
    commands = parser.add_subparsers(dest="command", required=True)
    migrate_command = commands.add_parser("migrate", help="update the schema to this release")
    migrate_command.add_argument("--dry-run", action="store_true", help="list pending migrations")
    arguments = parser.parse_args()
    settings = load_settings(AnalyticsSettings)
    configure_logging(settings)
    try:
        _migrate(settings, dry_run=arguments.dry_run)
    except MisconfiguredError as error:
        sys.stderr.write(f"{error}\n")
        raise SystemExit(EXIT_MISCONFIGURED) from error
    except TransientError as error:
        sys.stderr.write(f"{error}\n")
        raise SystemExit(EXIT_TEMPORARY_FAILURE) from error


def _migrate(settings: AnalyticsSettings, *, dry_run: bool) -> None:
    client = connect_for_schema(settings)
    try:
        cluster = cluster_of(settings)
        create_database(client, settings.clickhouse_database, cluster)
        changed = migrate(
            client,
            retention_days=settings.recognition_retention_days,
            dry_run=dry_run,
            cluster=cluster,
        )
    finally:
        client.close()
    verb = "missing" if dry_run else "applied"
    for migration in changed:
        sys.stdout.write(f"{verb} {migration.version:04} {migration.name}\n")
    if not changed:
        sys.stdout.write("the ClickHouse schema is up to date\n")


if __name__ == "__main__":
    main()
