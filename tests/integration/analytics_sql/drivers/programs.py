"""Programs that query ClickHouse with common drivers, if this machine can run the programs."""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.languages import is_present
from tests.services.clickhouse import ClickHouseAddress

HERE = Path(__file__).parent
_FETCH_SECONDS = 300
_ASK_SECONDS = 120
_PARAMETER = re.compile(r"\{(\w+):[^{}]+\}")


@dataclass(frozen=True)
class Question:
    """A statement, and the values of its parameters."""

    sql: str
    parameters: Mapping[str, str]

    def written_out(self) -> str:
        """Return the statement with inlined values, for programs that do not support parameters."""
        return _PARAMETER.sub(lambda found: f"'{self.parameters[found.group(1)]}'", self.sql)


def ready(language: str, directory: Path) -> Path:
    """Return a copy of the program in a language, with its driver installed.

    Skips the test if the machine lacks the language or cannot download the driver.
    """
    if not is_present(language):
        pytest.skip(f"no {language} here")
    folder = directory / language
    if not folder.exists():
        shutil.copytree(HERE / _FOLDERS[language], folder)
    made = folder / "made"
    if not made.exists():
        _FETCH[language](folder)
        made.touch()
    return folder


def node_first_columns(folder: Path, address: ClickHouseAddress, asked: Sequence[Question]) -> Any:
    return json.loads(_run(["node", "main.mjs"], folder, given=_task(address, asked)))


def jdbc_first_columns(
    folder: Path, jars: Path, address: ClickHouseAddress, asked: Sequence[Question]
) -> list[list[str]]:
    url = f"jdbc:clickhouse://{address.host}:{address.port}/{address.database}"
    statements = "\0".join(question.written_out() for question in asked)
    command = ["java", "-cp", f"{jars}/*:{folder}", "Ask", url, address.user, address.password]
    output = _run(command, folder, given=statements)
    return [line.rstrip("\t").split("\t") for line in output.splitlines()]


def jdbc_jars(folder: Path, version: str) -> Path:
    """Return the folder with a release of the driver, or skip the test if the download fails."""
    target = folder / f"jdbc-{version}"
    if not target.exists():
        command = ["mvn", "-q", "-B", "dependency:copy-dependencies"]
        options = [f"-Djdbc.version={version}", f"-DoutputDirectory={target}"]
        _fetch([*command, *options], folder)
    return target


def _task(address: ClickHouseAddress, asked: Sequence[Question]) -> str:
    questions = [{"sql": each.sql, "parameters": dict(each.parameters)} for each in asked]
    return json.dumps(
        {
            "host": address.host,
            "port": address.port,
            "user": address.user,
            "password": address.password,
            "database": address.database,
            "questions": questions,
        }
    )


def _fetch_node(folder: Path) -> None:
    _fetch(["npm", "ci", "--silent", "--ignore-scripts"], folder)


def _compile_java(folder: Path) -> None:
    _fetch(["javac", "-d", ".", "Ask.java"], folder)


_FOLDERS = {"javascript": "node", "java": "java"}
_FETCH = {"javascript": _fetch_node, "java": _compile_java}


def _fetch(command: Sequence[str], folder: Path) -> None:
    """Run a command that may download files. Skip the test if the command fails."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]} here")
    result = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=_FETCH_SECONDS,
        check=False,
    )
    if result.returncode:
        said = (result.stderr + result.stdout).strip()
        pytest.skip(f"{' '.join(command[:2])} cannot make the driver ready: {said[-400:]}")


def _run(command: Sequence[str], folder: Path, *, given: str) -> str:
    result = subprocess.run(
        command,
        cwd=folder,
        input=given,
        capture_output=True,
        text=True,
        timeout=_ASK_SECONDS,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-4000:]
    return result.stdout
