"""Makes a backup of an installation, and an installation of a backup."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Engine

from analytics_sql.backup import (
    dump_part,
    erased_plates,
    has_no_recognitions,
    load_part,
    parts,
)
from analytics_sql.client import connect_for_schema, query_text
from analytics_sql.cluster import cluster_of
from analytics_sql.migrate import (
    AppliedMigration,
    create_database,
    migrate,
    migrations,
    pending,
    roll_back,
)
from analytics_sql.settings import AnalyticsSettings
from api.backup.erasures import apply_erasures, forget_remembered, remembered
from api.backup.images import count_missing, dump_images, load_images
from api.backup.manifest import (
    AppliedSchema,
    BackupError,
    Manifest,
    Steps,
    check_files,
    described,
    read_manifest,
    write_manifest,
)
from api.backup.postgres import dump_tables, has_no_accounts, load_tables
from api.db.engine import check_nobody_works, in_transaction, open_engine
from api.db.migrate import knows_revision
from api.erasure.service import ErasureSettings
from api.outbox.outbox import republish_all
from common.errors import MisconfiguredError
from common.s3 import S3Bucket
from common.secrets import SecretBox
from common.settings import DatabaseSettings, EncryptionSettings, S3Settings

_S3_SECONDS: Final = 30.0
_S3_CONNECTIONS: Final = 8
_S3_RETRIES: Final = 3
_KEY_CHECK: Final = "platestream backup"


class BackupSettings(ErasureSettings, AnalyticsSettings, EncryptionSettings):
    """The settings of every store, and of the key that opens what is encrypted in them."""


@dataclass(frozen=True)
class Restored:
    """What came of a restore.

    ``put_back`` counts images that were put back, ``missing`` those that nobody has, ``erased``
    plates and accounts that had been erased after the backup.
    """

    manifest: Manifest
    put_back: int
    missing: int
    erased: int


def back_up(settings: BackupSettings, folder: Path, steps: Steps, *, copies: bool) -> Manifest:
    """Write a backup into a new folder. The service may run meanwhile.

    Raises:
        BackupError: the folder is there, or ClickHouse is a cluster.
        TransientError: a server is unavailable.
    """
    _refuse_cluster(settings)
    if folder.exists() and any(folder.iterdir()):
        raise BackupError(f"{folder} is not empty")
    folder.mkdir(parents=True, exist_ok=True)
    # Whoever can read it reads plates.
    folder.chmod(0o700)
    made_at = datetime.now(UTC)
    with _engine(settings) as engine:
        revision, sequences, configuration = dump_tables(engine, folder, steps)
    target = folder / "clickhouse"
    target.mkdir()
    with _clickhouse(settings) as client:
        applied = client.query(query_text("migrations_applied")).result_rows
        history = []
        for part in steps(list(parts(client)), "ClickHouse"):
            path = target / part.file_name
            dump_part(client, part, path)
            history.append(described(folder, path, part.table, part.columns))
    with _bucket(settings) as bucket:
        listed = dump_images(bucket, folder, steps, copies=copies)
    manifest = Manifest(
        version=version("platestream"),
        made_at=made_at,
        key_check=_box(settings).encrypt(_KEY_CHECK),
        revision=revision,
        sequences=sequences,
        postgres=configuration,
        schema=tuple(AppliedSchema(*row) for row in applied),
        clickhouse=tuple(history),
        images=(listed,),
        has_images=copies,
    )
    write_manifest(folder, manifest)
    return manifest


def restore(settings: BackupSettings, folder: Path, steps: Steps, *, replaces: bool) -> Restored:
    """Make an installation what it was at a backup; its processes do not run meanwhile.

    With ``replaces`` what is there goes. What it had noted as erased is erased again.

    Raises:
        BackupError: the folder is no whole backup, or something is there already.
        ServiceRunsError: the service runs.
        MisconfiguredError: the backup is of a later release, or of another secret key.
        TransientError: a server is unavailable.
    """
    _refuse_cluster(settings)
    manifest = read_manifest(folder)
    _check_release(settings, manifest)
    check_files(folder, manifest.files, steps)
    with _engine(settings) as engine, _clickhouse(settings) as client:
        check_nobody_works(engine)
        if not replaces and not (has_no_accounts(engine) and has_no_recognitions(client)):
            raise BackupError("there are accounts or recognitions already; --replace removes them")
        # Before anything goes: a restore that is cut off takes the notes with it.
        noted = remembered(folder, list(erased_plates(client)))
        load_tables(engine, folder, manifest.revision, manifest.sequences, manifest.postgres, steps)
        _load_rows(settings, client, folder, manifest, steps)
        with _bucket(settings) as bucket:
            put_back = 0
            if manifest.has_images:
                put_back = load_images(bucket, folder, manifest.images, steps)
            missing = count_missing(bucket, folder, manifest.images)
        erased = apply_erasures(settings, engine, client, noted, steps)
        in_transaction(engine, republish_all)
        forget_remembered(folder)
    return Restored(manifest, put_back, missing, erased)


def _load_rows(
    settings: BackupSettings, client: Any, folder: Path, manifest: Manifest, steps: Steps
) -> None:
    roll_back(client, 0)
    days = settings.recognition_retention_days
    migrate(client, retention_days=days, newest=max(each.version for each in manifest.schema))
    for file in steps(manifest.clickhouse, "ClickHouse"):
        load_part(client, file.table, file.columns, folder / file.path)
    migrate(client, retention_days=days)


def _check_release(settings: BackupSettings, manifest: Manifest) -> None:
    of_backup = f"the backup was made by Platestream {manifest.version}"
    if not knows_revision(manifest.revision):
        raise MisconfiguredError(f"{of_backup}, whose tables this release does not know")
    applied = [AppliedMigration(each.version, each.name, each.checksum) for each in manifest.schema]
    pending(migrations(), applied)
    if not applied:
        raise BackupError("the backup has no tables of ClickHouse")
    try:
        _box(settings).decrypt(manifest.key_check)
    except MisconfiguredError as error:
        raise MisconfiguredError(
            "PLATESTREAM_SECRET_KEY is not that of the backup: camera addresses and signing secrets"
            " in it could not be opened"
        ) from error


def _refuse_cluster(settings: BackupSettings) -> None:
    if cluster_of(settings) is not None:
        raise BackupError(
            "a cluster of ClickHouse is backed up by its own BACKUP … ON CLUSTER, PostgreSQL by"
            " pg_dump"
        )


def _box(settings: EncryptionSettings) -> SecretBox:
    return SecretBox(settings.secret_key.get_secret_value())


@contextmanager
def _engine(settings: DatabaseSettings) -> Iterator[Engine]:
    engine = open_engine(settings)
    try:
        yield engine
    finally:
        engine.dispose()


@contextmanager
def _clickhouse(settings: AnalyticsSettings) -> Iterator[Any]:
    client = connect_for_schema(settings)
    try:
        create_database(client, settings.clickhouse_database)
        yield client
    finally:
        client.close()


@contextmanager
def _bucket(settings: S3Settings) -> Iterator[S3Bucket]:
    bucket = S3Bucket(
        settings, read_seconds=_S3_SECONDS, connections=_S3_CONNECTIONS, retries=_S3_RETRIES
    )
    try:
        yield bucket
    finally:
        bucket.close()
