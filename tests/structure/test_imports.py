"""The top-level packages, and the packages that each may import (docs/architecture.md)."""

import ast
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("common", "recognition", "analytics_sql", "ingest", "streams", "api", "deploy", "tools")
CLIENT = ROOT / "clients" / "python"
MAY_IMPORT: dict[str, frozenset[str]] = {
    "common": frozenset(),
    "recognition": frozenset({"common"}),
    "analytics_sql": frozenset({"common"}),
    "ingest": frozenset({"common"}),
    "streams": frozenset({"common", "recognition", "analytics_sql"}),
    "api": frozenset({"common", "recognition", "analytics_sql"}),
    "deploy": frozenset(ROOMS) - {"tools"},
    "tools": frozenset(ROOMS),
}
# Packages of the `train` extra and similar ones: large, slow to load, or under the AGPL.
NEVER_WHILE_SERVING = frozenset(
    {
        "albumentations",
        "jax",
        "keras",
        "matplotlib",
        "onnx",
        "onnx2torch",
        "onnxslim",
        "pandas",
        "scipy",
        "skimage",
        "sklearn",
        "tensorflow",
        "torch",
        "torchvision",
        "ultralytics",
    }
)


def _modules(room: str) -> Iterator[Path]:
    yield from sorted((ROOT / room).rglob("*.py"))


def _name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(path: Path, *, at_import_time: bool = False) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = iter(tree.body) if at_import_time else ast.walk(tree)
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            assert node.level == 0, f"{path}: relative import"
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def _is_tool(path: Path) -> bool:
    return path.is_relative_to(ROOT / "tools")


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_it_may(room: str) -> None:
    for path in _modules(room):
        allowed = MAY_IMPORT[room] | {room}
        foreign = {name.split(".")[0] for name in _imports(path)} & {*ROOMS, "tests"} - allowed
        assert not foreign, f"{path.relative_to(ROOT)} imports {sorted(foreign)}"


def test_the_client_imports_nothing_of_the_service() -> None:
    for path in sorted(CLIENT.rglob("*.py")):
        foreign = {name.split(".")[0] for name in _imports(path)} & {*ROOMS, "tests"}
        assert not foreign, f"{path.relative_to(ROOT)} imports {sorted(foreign)}"


def test_what_is_served_is_packaged_and_tools_and_tests_are_not() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packaged = project["tool"]["setuptools"]["packages"]["find"]["include"]
    rooms = [f"{room}*" for room in ROOMS if room != "tools"]
    assert sorted(packaged) == sorted([*rooms, "platestream_client"])


def test_a_stage_never_imports_another_stage() -> None:
    for path in _modules("streams"):
        stage = path.relative_to(ROOT / "streams").parts[0]
        others = {name.split(".")[1] for name in _imports(path) if name.startswith("streams.")} - {
            stage,
            "runtime",
        }
        assert not others, f"{path.relative_to(ROOT)} imports stage {sorted(others)}"


def test_no_serving_process_imports_a_training_library() -> None:
    for room in ROOMS:
        for path in _modules(room):
            if not _is_tool(path):
                roots = {name.split(".")[0] for name in _imports(path)}
                assert not roots & NEVER_WHILE_SERVING, path.relative_to(ROOT)


def test_no_import_rings() -> None:
    names = {_name(path): path for room in ROOMS for path in _modules(room)}
    edges = {
        name: {found for found in _imports(path, at_import_time=True) if found in names} - {name}
        for name, path in names.items()
    }
    # An error names the ring.
    TopologicalSorter(edges).prepare()
