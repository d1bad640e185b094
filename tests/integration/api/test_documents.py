"""The pages for users of the API: every example is run as it stands."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvicorn

from api.errors import ERROR_RULES
from tests.integration.api import images
from tests.integration.api.application import PASSWORD, Application
from tests.integration.api.waiting import until

pytestmark = pytest.mark.integration

PAGES = sorted((Path(__file__).resolve().parents[3] / "docs" / "api").glob("*.md"))
_EXAMPLE = re.compile(r"^```bash\n(.*?)^```", re.DOTALL | re.MULTILINE)
_SECONDS = 60


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.name))
async def test_the_examples_of_a_page_work(
    application: Application, page: Path, tmp_path: Path
) -> None:
    examples = _examples(page)
    assert examples
    owner = await application.new_owner(credits=5)
    photo = tmp_path / "photo.jpg"
    photo.write_bytes(images.jpeg())
    async with _served(application) as address:
        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "PLATESTREAM_URL": address,
            "PLATESTREAM_KEY": owner.key,
            "PLATESTREAM_EMAIL": owner.email,
            "PLATESTREAM_PASSWORD": PASSWORD,
            "PLATESTREAM_PHOTO": str(photo),
        }
        script = "set -euo pipefail\n" + "".join(examples)
        shell = await asyncio.create_subprocess_exec(
            "bash",
            "-c",
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

    listed = re.findall(r"^\| (\d{3}) \| `(\w+)` \| (.*) \|$", page, re.MULTILINE)

    expected = {(str(int(r.status)), code.value, r.sentence) for code, r in ERROR_RULES.items()}
    assert set(listed) == expected


def _examples(page: Path) -> list[str]:
    return _EXAMPLE.findall(page.read_text(encoding="utf-8"))


@asynccontextmanager
async def _served(application: Application) -> AsyncIterator[str]:
    """Serve the application on a free port of loopback."""
    config = uvicorn.Config(
        application.app, host="127.0.0.1", port=0, lifespan="off", log_config=None
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())

    async def started() -> bool:
        return server.started

    try:
        await until(started, seconds=10)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        await serving
