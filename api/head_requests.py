"""HEAD: what GET answers, without the body. **Source:** RFC 9110, section 9.3.2."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.access import allowed_methods

_HEAD = "HEAD"


class HeadRequests:
    """ASGI middleware that has a HEAD done as the GET of the same path, where there is one."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap ``app``."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Do a HEAD as a GET; pass on everything else."""
        if not _is_answerable_head(scope):
            await self._app(scope, receive, send)
            return

        async def send_without_body(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        # A copy: the server has to know that it sends no body, whatever Content-Length says.
        asked = {**scope, "method": "GET"}
        try:
            await self._app(asked, receive, send_without_body)
        finally:
            scope["route"] = asked.get("route")


def _is_answerable_head(scope: Scope) -> bool:
    return (
        scope["type"] == "http"
        and scope["method"] == _HEAD
        and _HEAD in allowed_methods(scope["path"])
    )
