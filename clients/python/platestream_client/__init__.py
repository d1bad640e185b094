"""Client for the Platestream API.

``platestream_client.receiver`` has helpers for webhook receivers.
"""

from platestream_client.calls import Picture
from platestream_client.client import AsyncClient, Client
from platestream_client.errors import ApiError, PlatestreamError, StreamGapError, UnreachableError
from platestream_client.recognitions import ExportPart
from platestream_client.retries import RetryPolicy

__all__ = [
    "ApiError",
    "AsyncClient",
    "Client",
    "ExportPart",
    "Picture",
    "PlatestreamError",
    "RetryPolicy",
    "StreamGapError",
    "UnreachableError",
]
