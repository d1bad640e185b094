"""JSON of the API keys resource."""

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
        description="What the key may do; never more than its maker may.",
        examples=[["recognitions:read", "cameras:read"]],
    ),
    AfterValidator(without_repeats),
]
ExpiresAt = Annotated[
    BodyInstant | None,
    Field(
        description="The key is refused from then on; null: never. "
        "A key gives none beyond its own; left out of a new key, it is that of its maker."
    ),
]


_SHOWN_ONLY = frozenset({"id", "prefix", "createdAt", "lastUsedAt", "ancestors"})


class ApiKeyCreate(RequestModel):
    """A key to make."""

    shown_only = _SHOWN_ONLY

    name: Name = Field(description="A name to know the key by.")
    scopes: Scopes
    enabled: JsonBoolean = Field(default=True, description="False: the key is refused.")
    expires_at: ExpiresAt = None


class ApiKeyUpdate(RequestModel):
    """The fields of a key to change; those left out stay."""

    shown_only = _SHOWN_ONLY

    name: Name = Field(default="", description="A name to know the key by.")
    scopes: Scopes = Field(default_factory=list)
    enabled: JsonBoolean = Field(default=True, description="False: the key is refused.")
    expires_at: ExpiresAt = None


class ApiKeyBody(ResponseModel):
    """A key as reads show it; the key itself is known to its holder only."""

    id: UUID = Field(description="Id of the key.")
    name: str = Field(description="The key's name.", examples=["Gate north"])
    prefix: str = Field(description="The first characters of the key.", examples=["pk_4fzXq1Lm"])
    scopes: Annotated[list[Scope], BeforeValidator(sorted)] = Field(description="What it may do.")
    enabled: bool = Field(description="False: the key is refused.")
    created_at: Timestamp = Field(description="When it was made; UTC.")
    last_used_at: Timestamp | None = Field(description="Within a minute.")
    expires_at: Timestamp | None = Field(
        description="Not valid from then on; UTC. Null: it does not end."
    )
    ancestors: list[UUID] = Field(
        description="The keys by which it was made, its maker first; they may be revoked. "
        "Empty for keys made in a session or by the operator."
    )


class ApiKeyAnswer(ResponseModel):
    """One key."""

    api_key: ApiKeyBody = Field(description="The key's record.")


class NewApiKeyAnswer(ResponseModel):
    """A key just made, and the only sight of the key itself."""

    api_key: ApiKeyBody = Field(description="The key's record.")
    plain_key: str = Field(
        description="The full key, shown this once.",
        examples=["pk_4fzXq1LmT0aVbN8cRk2sWd7eHu9yJp5iGo3QZ6tB"],
    )


class ApiKeyList(ResponseModel):
    """The caller's keys, newest first."""

    api_keys: list[ApiKeyBody] = Field(description="The keys, newest first.")
    next_key: str | None = next_key_field()
