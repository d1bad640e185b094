"""Every Kafka client is created with the security settings."""

import ast
from collections.abc import Iterator

import pytest

from tests.structure.test_imports import ROOMS, ROOT

# Modules that create clients: kafka-python's, and Faust's app.
MAKERS = {"common/kafka/clients.py", "streams/runtime/app.py"}
CLIENTS = frozenset({"KafkaProducer", "KafkaConsumer", "KafkaAdminClient", "KafkaClient"})
OPTIONS = frozenset({"producer_options", "consumer_options", "client_options"})


def _trees(*folders: str) -> Iterator[tuple[str, ast.Module]]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def _name(node: ast.expr) -> str:
    return ast.unparse(node).rpartition(".")[2]


def _kinds(trees: list[tuple[str, ast.Module]]) -> frozenset[str]:
    """Return the names of the client classes, including derived classes."""
    kinds = set(CLIENTS) | {"App"}
    for _, tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and kinds & {_name(base) for base in node.bases}:
                kinds.add(node.name)
    return frozenset(kinds)


def _calls(tree: ast.Module, kinds: frozenset[str]) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = _name(node.func)
            if name in kinds or name.startswith("AIOKafka"):
                yield node


def _takes_options(call: ast.Call) -> bool:
    return any(
        keyword.arg is None
        and any(
            isinstance(part, ast.Call) and _name(part.func) in OPTIONS
            for part in ast.walk(keyword.value)
        )
        for keyword in call.keywords
    )


def test_clients_of_kafka_are_made_in_one_place() -> None:
    trees = list(_trees(*(room for room in ROOMS if room != "tools")))
    kinds = _kinds(trees)
    assert {"IdlePollConsumer", "StageApp"} <= kinds
    makers = {path for path, tree in trees if any(_calls(tree, kinds))}
    assert makers == MAKERS


def test_a_stage_is_given_its_credentials() -> None:
    tree = dict(_trees("streams/runtime"))["streams/runtime/app.py"]
    (call,) = _calls(tree, frozenset({"StageApp"}))
    assert "broker_credentials" in {keyword.arg for keyword in call.keywords}


@pytest.mark.parametrize("folder", ["benchmarks", "tests"])
def test_measurements_and_tests_take_the_same_options(folder: str) -> None:
    for path, tree in _trees(folder):
        for call in _calls(tree, CLIENTS):
            assert _takes_options(call), f"{path}:{call.lineno}"
