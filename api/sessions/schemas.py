"""JSON of sessions."""

from typing import Annotated

from pydantic import Field

from api.accounts.models import OwnerAccount
from api.accounts.passwords import MAX_PASSWORD_CHARACTERS
from api.email_addresses import MAX_EMAIL_CHARACTERS
from api.schemas import CleanText, RequestModel, ResponseModel, Timestamp
from api.sessions.service import NewSession


class LogIn(RequestModel):
    """Who wants to log in."""

    email: Annotated[
        CleanText, Field(min_length=1, max_length=MAX_EMAIL_CHARACTERS, examples=["me@example.com"])
    ]
    password: Annotated[str, Field(min_length=1, max_length=MAX_PASSWORD_CHARACTERS)]


class SessionBody(ResponseModel):
    """Who is logged in, and until when."""

    email: str
    timezone: str
    expires_at: Timestamp


class SessionAnswer(ResponseModel):
    """A session; its token is in the cookie."""

    session: SessionBody


def session_answer(made: NewSession) -> SessionAnswer:
    """Return the JSON form of a session."""
    owner: OwnerAccount = made.owner
    return SessionAnswer(
        session=SessionBody(
            email=owner.email, timezone=owner.timezone, expires_at=made.record.expires_at
        )
    )
