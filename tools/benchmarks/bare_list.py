"""Provides a baseline for the list call: a FastAPI app that only runs the same query.

uvicorn serves it as ``tools.benchmarks.bare_list:app``. The environment must contain the settings
of the stack's ClickHouse, and the account's ID in ``BARE_OWNER``.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from fastapi import FastAPI

from analytics_sql.client import ClickHouseClient
from analytics_sql.recognitions import RecognitionFilter, RecognitionRow, list_recognitions
from common.settings import ClickHouseSettings, load_settings
from common.timestamps import format_timestamp


@asynccontextmanager
async def _connected(app: FastAPI) -> AsyncIterator[None]:
    app.state.client = ClickHouseClient(load_settings(ClickHouseSettings))
    yield
    await app.state.client.close()


app = FastAPI(lifespan=_connected)


@app.get("/recognitions")
async def recognitions(limit: int = 50) -> dict[str, Any]:
    """Return the account's newest recognitions."""
    wanted = RecognitionFilter(user_id=UUID(os.environ["BARE_OWNER"]))
    page = await list_recognitions(app.state.client, wanted, None, limit)
    return {"recognitions": [_fields(found) for found in page.rows], "nextKey": None}


def _fields(found: RecognitionRow) -> dict[str, Any]:
    box = found.box
    return {
        "id": str(found.id),
        "userId": str(found.user_id),
        "cameraId": str(found.camera_id),
        "cameraName": found.camera_name,
        "plate": found.plate,
        "confidence": found.confidence,
        "timestamp": format_timestamp(found.captured_ms),
        "photoUrl": found.photo_key,
        "cropUrl": found.crop_key,
        "plateCoordinates": None
        if box is None
        else {"x": box.x, "y": box.y, "width": box.width, "height": box.height},
    }
