"""Login through an identity provider, as a browser does."""

import uuid
from dataclasses import dataclass

import httpx

from tests.services.oidc import OidcProvider

BEGIN, RETURN = "/api/session/oidc", "/api/session/oidc/return"


async def begin(browser: httpx.AsyncClient, **body: str) -> str:
    """Start a login and return the provider's URL for it."""
    answer = await browser.post(BEGIN, json=body)
    assert answer.status_code == 200, answer.text
    url: str = answer.json()["url"]
    return url


def said(answer: httpx.Response) -> tuple[int, str]:
    """Return the status and the code of an error."""
    return answer.status_code, answer.json()["code"]


@dataclass(frozen=True)
class Visitor:
    """A browser, and the provider at which its user logs in."""

    browser: httpx.AsyncClient
    provider: OidcProvider

    async def log_in(self, subject: str, **body: str) -> httpx.Response:
        """Log in at the provider as ``subject``, and return the API's response to the login."""
        back = self.provider.let_in(await begin(self.browser, **body), subject)
        return await self.browser.post(RETURN, json=back)

    def subject_of(self, email: str, *, verified: object = True) -> str:
        """Register a new subject with an email address at the provider, and return the subject."""
        subject = uuid.uuid4().hex
        self.provider.know(subject, email=email, email_verified=verified, name="Ana")
        return subject
