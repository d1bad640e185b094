"""The documentation of the API: every example runs unchanged."""

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from api.db.database import Database
from api.errors import ErrorCode
from tests.integration.api import images
from tests.integration.api.application import PASSWORD, Application, Options, running_application
from tests.integration.api.camera_worker import taking_cameras
from tests.integration.api.serving import served
from tests.languages import is_present

pytestmark = pytest.mark.integration

PAGES = sorted((Path(__file__).resolve().parents[3] / "docs" / "api").glob("*.md"))
_EXAMPLE = re.compile(r"^```(bash|python|javascript)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_PROGRAMS = {
    "python": (sys.executable, "-c"),
    "javascript": ("node", "--input-type=module", "--eval"),
}
_SECONDS = 60


@pytest.fixture
async def documented(database: Database) -> AsyncIterator[Application]:
    """The application, with event streams that stay open."""
    async with running_application(database, Options(feeds_streams=True)) as application:
        yield application


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.name))
async def test_the_examples_of_a_page_work(
    documented: Application, page: Path, tmp_path: Path
) -> None:
    examples = _examples(page)
    assert examples
    owner = await documented.new_owner(credits=9)
    photo = tmp_path / "photo.jpg"
    photo.write_bytes(images.jpeg())
    async with served(documented) as address, taking_cameras(documented):
        environment = {
            "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
            "PLATESTREAM_URL": address,
            "PLATESTREAM_KEY": owner.key,
            "PLATESTREAM_EMAIL": owner.email,
            "PLATESTREAM_PASSWORD": PASSWORD,
            "PLATESTREAM_PHOTO": str(photo),
        }
        for program, script in examples:
            shell = await asyncio.create_subprocess_exec(
                *program,
                script,
                env=environment,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            async with asyncio.timeout(_SECONDS):
                output, _ = await shell.communicate()
            assert shell.returncode == 0, output.decode()


def test_the_page_of_errors_has_them_all() -> None:
    page = next(page for page in PAGES if page.name == "errors.md").read_text(encoding="utf-8")

    listed = re.findall(r"^- \*\*(\d{3})\*\*(.*(?:\n  .*)*)", page, re.MULTILINE)
    codes = {(status, word) for status, text in listed for word in re.findall(r"`(\w+)`", text)}

    assert codes == {(str(int(code.status)), code.value) for code in ErrorCode}


def _examples(page: Path) -> list[tuple[tuple[str, ...], str]]:
    """Return the page's examples with their interpreters. The bash examples form one script."""
    found = _EXAMPLE.findall(page.read_text(encoding="utf-8"))
    shell = "".join(script for language, script in found if language == "bash")
    others = [
        (_PROGRAMS[language], script)
        for language, script in found
        # Servers rarely have Node.js. The end of the test run reports that it is missing.
        if language != "bash" and is_present(language)
    ]
    return [(("bash", "-c"), f"set -euo pipefail\n{shell}"), *others]
