import pytest

from common.child_environment import (
    bare_environment,
    child_environment,
    proxies_without_login,
    settings_within,
)
from common.settings import DatabaseSettings, ProcessSettings

_WHOLE = {
    "PATH": "/usr/bin",
    "LC_ALL": "C.UTF-8",
    "PYTHONPATH": "/srv",
    "HOME": "/home/a",
    "HOMEBREW_GITHUB_API_TOKEN": "secret",
    "LANGCHAIN_API_KEY": "secret",
    "AWS_CA_BUNDLE": "/etc/ca.pem",
    "PLATESTREAM_DATABASE_URL": "postgresql://secret",
    "PLATESTREAM_S3_SECRET_KEY": "secret",
    "platestream_log_level": "debug",
}


def test_the_bare_one_holds_what_any_program_needs_by_its_whole_name() -> None:
    assert set(bare_environment(_WHOLE)) == {"PATH", "LC_ALL", "PYTHONPATH", "HOME"}


def test_others_are_named_whole_or_by_their_beginning() -> None:
    assert {"AWS_CA_BUNDLE"} < set(bare_environment(_WHOLE, "AWS_CA_BUNDLE"))
    assert {"AWS_CA_BUNDLE"} < set(bare_environment(_WHOLE, "AWS_*"))
    assert "AWS_CA_BUNDLE" not in bare_environment(_WHOLE, "AWS")


def test_settings_are_those_of_the_classes_in_capitals_or_not() -> None:
    assert settings_within(_WHOLE, DatabaseSettings, ProcessSettings) == {
        "PLATESTREAM_DATABASE_URL": "postgresql://secret",
        "platestream_log_level": "debug",
    }


def test_an_own_process_gets_what_is_no_setting_and_its_settings() -> None:
    given = child_environment(_WHOLE, ProcessSettings)

    assert set(_WHOLE) - set(given) == {"PLATESTREAM_DATABASE_URL", "PLATESTREAM_S3_SECRET_KEY"}


@pytest.mark.parametrize("name", ["https_proxy", "HTTP_PROXY", "all_proxy"])
def test_a_proxy_with_a_login_is_left_out(name: str) -> None:
    open_to_all = {name: "http://proxy.example:3128", "NO_PROXY": "localhost"}

    assert proxies_without_login({**open_to_all, "PATH": "/bin"}) == open_to_all
    assert proxies_without_login({name: "http://user:password@proxy.example:3128"}) == {}
    assert proxies_without_login({name: "user:password@proxy.example:3128"}) == {}
