"""The rules of docs/contributing.md: folders, sizes, names, and one adapter per system."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Final

import pytest

ROOT = Path(__file__).resolve().parents[2]
SERVING: Final = ("common", "recognition", "analytics_sql", "ingest", "streams", "api")
MAX_MODULES = 16
MIGRATIONS: Final = ROOT / "api/db/migrations/versions"
"""Folder of the migrations, one numbered file for each change of the tables."""

MAX_LINES = 500
FEW_LINES = 50

COMMON_LAYERS: Final[Mapping[str, frozenset[str]]] = {
    "records": frozenset({"plates", "urls"}),
    "plates": frozenset(),
    "apprise": frozenset({"urls"}),
    "urls": frozenset(),
    "mail": frozenset(),
    "telemetry": frozenset(),
    "alerting": frozenset({"records", "plates", "urls"}),
    "kafka": frozenset({"records", "plates", "urls"}),
}
"""The folders of common, with the folders that each can import. All can import common's modules."""

SMALL: Final[Mapping[str, str]] = {
    "analytics_sql/settings.py": "docs/settings.md is made from modules of this name",
    "api/analytics/routes.py": "the paths of a resource are its routes",
    "api/audit_log/routes.py": "the paths of a resource are its routes",
    "api/credits/routes.py": "the paths of a resource are its routes",
    "api/oidc/repository.py": "the SQL of a resource is its repository",
    "api/outbox/settings.py": "docs/settings.md is made from modules of this name",
    "common/kafka/workarounds/decoder_lock.py": "one file a fault of a library",
    "common/kafka/workarounds/idle_poll.py": "one file a fault of a library",
    "common/kafka/workarounds/offset_fetch.py": "one file a fault of a library",
    "common/kafka/workarounds/reconnect_wait.py": "one file a fault of a library",
    "common/tls.py": "settings check certificates by it, and may not import Kafka's folder",
}
"""Short modules that only one module imports, with the reason for a separate module."""

VENDORS: Final[Mapping[str, tuple[str, ...]]] = {
    "aiohttp": (
        "streams/webhooks/delivery/http_sender.py",
        "api/adapters/circuit_breaker.py",
        "api/oidc/provider.py",
    ),
    "aiosmtplib": ("common/mail/server.py",),
    "apprise": ("common/apprise/plugins.py",),
    "authlib": ("api/oidc/protocol.py",),
    "clickhouse_connect": ("analytics_sql/client.py",),
    "joserfc": ("api/oidc/protocol.py",),
    "kafka": ("common/kafka/",),
    "minio": ("common/s3.py",),
    "paho": ("streams/mqtt/broker.py",),
    "requests": ("common/apprise/plugins.py",),
}
"""Libraries for outside systems, with the only modules or folders that may use their types."""


@cache
def _modules() -> Mapping[str, Path]:
    """Return the modules of the service, by dotted name, without empty ``__init__`` files."""
    return {
        _name(path): path
        for room in SERVING
        for path in sorted((ROOT / room).rglob("*.py"))
        if path.name != "__init__.py" or path.stat().st_size
    }


def _name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _imports(path: Path) -> frozenset[str]:
    """Return every module that a module imports, at any level."""
    found: set[str] = set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(found)


def _own_imports(path: Path) -> Iterator[str]:
    return (name for name in _imports(path) if name in _modules())


def _place(name: str) -> str:
    """Return a module's folder, or the module itself at the top of a package or stage (wiring)."""
    parts = _modules()[name].relative_to(ROOT).parts
    is_top = len(parts) == (3 if parts[0] == "streams" else 2)
    return name if is_top else "/".join(parts[:-1])


def test_common_is_imported_downwards() -> None:
    for name, path in _modules().items():
        layer = name.split(".")[1] if name.startswith("common.") else None
        if layer is None:
            continue
        may = COMMON_LAYERS.get(layer, frozenset()) | {layer}
        for other in _own_imports(path):
            folder = other.split(".")[1]
            assert folder not in COMMON_LAYERS or folder in may, f"{name} imports {other}"


def test_no_ring_between_folders() -> None:
    edges: defaultdict[str, set[str]] = defaultdict(set)
    for name, path in _modules().items():
        edges[_place(name)] |= {_place(other) for other in _own_imports(path)} - {_place(name)}
    # An error names the ring.
    TopologicalSorter(edges).prepare()


def test_only_the_container_imports_resources() -> None:
    resources = {
        path.parent.relative_to(ROOT).as_posix().replace("/", ".")
        for path in (ROOT / "api").glob("*/routes.py")
    }
    for name, path in _modules().items():
        if path.parent == ROOT / "api" and name not in ("api.container", "api.app", "api.deps"):
            found = {other for other in _own_imports(path) if other.rpartition(".")[0] in resources}
            assert not found, f"{name} imports {sorted(found)}"


def test_no_folder_is_a_corridor() -> None:
    sizes = Counter(
        path.parent.relative_to(ROOT).as_posix()
        for room in (*SERVING, "deploy")
        for path in (ROOT / room).rglob("*.py")
        if path.name != "__init__.py"
    )
    assert {folder: size for folder, size in sizes.items() if size > MAX_MODULES} == {}


def test_modules_are_neither_long_nor_crumbs() -> None:
    importers: defaultdict[str, set[str]] = defaultdict(set)
    for name, path in _modules().items():
        for other in _own_imports(path):
            importers[other].add(name)
    for name, path in _modules().items():
        lines = len(path.read_text(encoding="utf-8").splitlines())
        assert lines <= MAX_LINES, f"{name}: {lines} lines"
        place = path.relative_to(ROOT).as_posix()
        is_crumb = lines < FEW_LINES and len(importers[name]) == 1
        assert is_crumb <= (place in SMALL), f"{name}: {lines} lines for {importers[name]}"


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_vendor_is_imported_in_one_place(vendor: str) -> None:
    importers = {
        path.relative_to(ROOT).as_posix()
        for path in _modules().values()
        if vendor in {name.split(".")[0] for name in _imports(path)}
    }
    assert importers
    assert not {place for place in importers if not place.startswith(VENDORS[vendor])}


def test_no_public_class_name_is_used_twice() -> None:
    names = Counter(
        node.name
        for path in _modules().values()
        for node in _tree(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_every_migration_can_be_rolled_back() -> None:
    migrations = sorted(MIGRATIONS.glob("[0-9]*.py"))
    assert migrations
    for path in migrations:
        names = {node.name for node in _tree(path).body if isinstance(node, ast.FunctionDef)}
        assert {"upgrade", "downgrade"} <= names, path.name
