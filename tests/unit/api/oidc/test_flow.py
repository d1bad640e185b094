"""The cookie of an unfinished login, and the settings of a provider."""

import pytest
from cryptography.fernet import Fernet
from pydantic import ValidationError

from api.oidc.flow import FlowCookies, new_flow
from api.oidc_settings import OidcSettings
from common.secrets import SecretBox

GOOD = {"oidc_issuer": "https://login.example.com/realms/office", "oidc_client_id": "platestream"}


def test_a_cookie_is_good_with_its_state_and_of_this_installation_alone() -> None:
    box = SecretBox(Fernet.generate_key().decode())
    cookies, others = FlowCookies(box), FlowCookies(SecretBox(Fernet.generate_key().decode()))
    flow = new_flow("an invitation")
    cookie = cookies.cookie(flow)

    assert cookies.flow(cookie, flow.state) == flow
    assert cookies.flow(cookie, "another") is None
    assert cookies.flow(cookie, "ü") is None
    assert others.flow(cookie, flow.state) is None
    for made_up in (None, "", "made up", box.encrypt("{}"), box.encrypt('{"oidc": 1}')):
        assert cookies.flow(made_up, flow.state) is None


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"oidc_issuer": "http://login.example.com"}, "PLATESTREAM_OIDC_ISSUER"),
        ({"oidc_issuer": "login.example.com"}, "PLATESTREAM_OIDC_ISSUER"),
        ({"oidc_issuer": "https://a:b@login.example.com"}, "PLATESTREAM_OIDC_ISSUER"),
        ({"oidc_client_id": ""}, "PLATESTREAM_OIDC_CLIENT_ID"),
        ({"oidc_scopes": "email"}, "PLATESTREAM_OIDC_SCOPES"),
        ({"oidc_issuer": "", "password_log_in": False}, "login is impossible"),
        ({"oidc_email_domains": "example.com, nowhere"}, "'nowhere' is not a valid email domain"),
        ({"oidc_email_domains": "*.example.com"}, "is not a valid"),
    ],
    ids=["http", "no-scheme", "user", "no-client", "no-openid", "no-way", "no-domain", "wildcard"],
)
def test_settings_that_cannot_work_are_reported(given: dict[str, object], fault: str) -> None:
    with pytest.raises(ValidationError, match=fault):
        OidcSettings.model_validate({**GOOD, **given})


@pytest.mark.parametrize(
    "issuer", [GOOD["oidc_issuer"], "http://127.0.0.1:9000", "http://localhost"]
)
def test_an_issuer_over_tls_or_of_this_machine_is_taken(issuer: str) -> None:
    assert OidcSettings.model_validate({**GOOD, "oidc_issuer": issuer}).oidc_issuer == issuer


def test_domains_are_taken_as_people_write_them() -> None:
    given = {**GOOD, "oidc_email_domains": "Example.com, @mail.example.org,"}
    assert OidcSettings.model_validate(given).oidc_email_domains == (
        "example.com",
        "mail.example.org",
    )
    assert OidcSettings.model_validate(GOOD).oidc_email_domains == ()
