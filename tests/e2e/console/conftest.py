"""Fixtures: the console's stack, an account with data, and a browser."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from common.settings import S3Settings
from tests.e2e.console.browser import CHROMIUM, WAIT_MS, ConsolePage, opened_page
from tests.e2e.console.scene import Scene, furnish
from tests.e2e.console.stack import Account, ConsoleStack, console_stack
from tests.integration.api.application import NO_LIMITS
from tests.services.clickhouse import ClickHouseAddress
from tests.services.clickhouse import create_database as create_clickhouse
from tests.services.oidc import OidcProvider
from tests.services.postgres import create_database as create_postgres
from tests.services.s3 import fresh_bucket


@pytest.fixture(scope="package")
def stack(
    postgres_url: str,
    clickhouse_server: ClickHouseAddress,
    s3_server: S3Settings,
    oidc_provider: OidcProvider,
) -> Iterator[ConsoleStack]:
    """The API with empty databases and an empty bucket."""
    database, clickhouse = create_postgres(postgres_url), create_clickhouse(clickhouse_server)
    more = {**oidc_provider.settings, "camera_allow_loopback": True}
    bucket = fresh_bucket(s3_server)
    with console_stack(database, clickhouse, bucket, limits=NO_LIMITS, more=more) as running:
        yield running


@pytest.fixture(scope="package")
def scene(stack: ConsoleStack) -> Scene:
    """An account with a month of recognitions. Tests must not change the account."""
    return furnish(stack)


@pytest.fixture
def account(stack: ConsoleStack) -> Account:
    """An empty account for one test."""
    return stack.new_account()


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Debian's Chromium in headless mode."""
    expect.set_options(timeout=WAIT_MS)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield launched
        launched.close()


@pytest.fixture
def console(browser: Browser, stack: ConsoleStack) -> Iterator[ConsolePage]:
    """A page in English. Any error in the browser fails the test."""
    with opened_page(browser, stack) as page:
        yield page
