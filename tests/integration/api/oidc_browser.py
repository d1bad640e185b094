"""Login through an identity provider, as a browser does."""

import uuid

import httpx

from tests.services.oidc import OidcProvider

BEGIN, RETURN = "/api/session/oidc", "/api/session/oidc/return"


async def begin(browser: httpx.AsyncClient, **body: str) -> str:
    """Start a login and return the provider's URL for it."""
    answer = await browser.post(BEGIN, json=body)
    assert answer.status_code == 200, answer.text
    url: str = answer.json()["url"]
    return url


async def log_in(
    browser: httpx.AsyncClient, provider: OidcProvider, subject: str, **body: str
) -> httpx.Response:
    """Log in at the provider as ``subject``, and return the API's response to the login."""
    back = provider.let_in(await begin(browser, **body), subject)
    return await browser.post(RETURN, json=back)


def said(answer: httpx.Response) -> tuple[int, str]:
    """Return the status and the code of an error."""
    return answer.status_code, answer.json()["code"]


def subject_of(provider: OidcProvider, email: str, *, verified: object = True) -> str:
    """Register a new subject with an email address at the provider, and return the subject."""
    subject = uuid.uuid4().hex
    provider.know(subject, email=email, email_verified=verified, name="Ana")
    return subject
