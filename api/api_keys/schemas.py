"""Request and response bodies for API keys."""

from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, Field

from api.accounts.service import MAX_KEY_NAME_CHARACTERS
from api.paging.lists import next_key_field
from api.schemas import (
    JsonBoolean,
    NameText,
    RequestModel,
    ResponseModel,
    Timestamp,
    without_repeats,
)
from api.security.permissions import Scope
from api.validation.fields import BodyInstant

Name = Annotated[
    NameText, Field(min_length=1, max_length=MAX_KEY_NAME_CHARACTERS, examples=["Gate controller"])
]
Scopes = Annotated[
    list[Scope],
    Field(
        min_length=1,
        max_length=100,
        description="Scopes of the key. A key cannot grant scopes that its creator does not have.",
        examples=[["recognitions:read", "cameras:read"]],
    ),
    AfterValidator(without_repeats),
]
ExpiresAt = Annotated[
    BodyInstant | None,
    Field(
        description="Expiry time (UTC); null: never. A key cannot outlive the key that "
        "created it. Defaults to the creator's expiry."
    ),
]


_SHOWN_ONLY = frozenset({"id", "prefix", "createdAt", "lastUsedAt", "ancestors"})


class ApiKeyCreate(RequestModel):
    """An API key to create."""

    shown_only = _SHOWN_ONLY

    name: Name = Field(description="Name of the API key.")
    scopes: Scopes
    enabled: JsonBoolean = Field(default=True, description="Whether the key is accepted.")
    expires_at: ExpiresAt = None


class ApiKeyUpdate(RequestModel):
    """Fields of an API key to update. Omitted fields keep their values."""

    shown_only = _SHOWN_ONLY

    name: Name = Field(default="", description="Name of the API key.")
    scopes: Scopes = Field(default_factory=list)
    enabled: JsonBoolean = Field(default=True, description="Whether the key is accepted.")
    expires_at: ExpiresAt = None


class ApiKeyBody(ResponseModel):
    """An API key. The key itself is returned only when it is created."""

    id: UUID = Field(description="ID of the API key.")
    name: str = Field(description="Name of the API key.", examples=["Gate north"])
    prefix: str = Field(description="First characters of the key.", examples=["pk_4fzXq1Lm"])
    scopes: Annotated[list[Scope], BeforeValidator(sorted)] = Field(description="Scopes granted.")
    enabled: bool = Field(description="Whether the key is accepted.")
    created_at: Timestamp = Field(description="Creation time (UTC).")
    last_used_at: Timestamp | None = Field(description="Time of the last use, to the minute (UTC).")
    expires_at: Timestamp | None = Field(description="Expiry time (UTC); null: never expires.")
    ancestors: list[UUID] = Field(
        description="IDs of the keys from which this key was created, its direct parent "
        "first. Some may have been revoked. Empty for keys created in a session or by a "
        "server administrator."
    )


class ApiKeyAnswer(ResponseModel):
    """One API key."""

    api_key: ApiKeyBody = Field(description="The API key, without the secret part.")


class NewApiKeyAnswer(ResponseModel):
    """A new API key. This is the only response that contains the complete key."""

    api_key: ApiKeyBody = Field(description="The API key, without the secret part.")
    plain_key: str = Field(
        description="The complete key. Returned only once.",
        examples=["pk_4fzXq1LmT0aVbN8cRk2sWd7eHu9yJp5iGo3QZ6tB"],
    )


class ApiKeyList(ResponseModel):
    """The account's API keys, newest first."""

    api_keys: list[ApiKeyBody] = Field(description="API keys, newest first.")
    next_key: str | None = next_key_field()
