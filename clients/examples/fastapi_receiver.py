"""Receives events with FastAPI: ``WEBHOOK_SECRET=whsec_... uvicorn fastapi_receiver:app``."""

import logging
import os

from fastapi import FastAPI, Request, Response
from platestream_client.models import Event
from platestream_client.receiver import EventError, Seen, SignatureError, parse, verify

app = FastAPI()
log = logging.getLogger("uvicorn.error")
seen = Seen()


@app.post("/plates")
async def receive(request: Request) -> Response:
    """Accept an event that is genuine and new. Use a queue for long work."""
    body = await request.body()
    try:
        verify(os.environ["WEBHOOK_SECRET"], request.headers, body)
        event = parse(body)
    except SignatureError as error:
        return Response(str(error), 401)
    except EventError as error:
        return Response(str(error), 400)
    with seen.once(event["id"]) as is_new:
        if is_new:
            handle(event)
    return Response(status_code=204)


def handle(event: Event) -> None:
    """Process an event. If this raises, the service retries the delivery."""
    if event["event"] == "recognition.created":
        log.info("%s was read", event["data"]["recognition"]["plate"])
    elif event["event"] == "alert.triggered":
        alert, recognition = event["data"]["alert"], event["data"]["recognition"]
        log.info("%s: %s", alert["name"], recognition["plate"])
