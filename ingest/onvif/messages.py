"""Requests and reports of ``ingest.onvif``, and the XML that devices send and receive."""

from typing import Final
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import msgspec

from ingest.errors import CaptureError, CaptureErrorCode

_SOAP: Final = "http://www.w3.org/2003/05/soap-envelope"
_MAX_NAME_LENGTH: Final = 100


class OnvifRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Lists the streams of the device with the service URL ``device_url``, or finds devices if it
    is empty: at ``address`` (a host, optionally with a port), or all devices in the local networks.
    """

    address: str = ""
    device_url: str = ""
    username: str = ""
    password: str = ""


class OnvifDevice(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A device that answered. ``name`` and ``model`` are empty if unknown."""

    address: str
    device_url: str
    name: str = ""
    model: str = ""


class OnvifStream(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A media profile, with its stream URL without a user name, and its frame size in pixels."""

    name: str
    rtsp_url: str
    codec: str | None = None
    frame_width: int | None = None
    frame_height: int | None = None


class OnvifReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What was found. ``code`` and ``error`` are the reason for a failure, or None."""

    code: str | None = None
    error: str | None = None
    devices: tuple[OnvifDevice, ...] = ()
    streams: tuple[OnvifStream, ...] = ()


def envelope(header: str, body: str) -> bytes:
    """Return a SOAP 1.2 envelope."""
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><s:Envelope xmlns:s="{_SOAP}">'
        f"<s:Header>{header}</s:Header><s:Body>{body}</s:Body></s:Envelope>"
    ).encode()


def parse_answer(data: bytes) -> Element:
    """Return the root of an answer.

    Raises:
        CaptureError: the answer is no XML, or has a document type, which could declare entities.
    """
    parser = ElementTree.XMLParser(target=_NoDocumentType())
    try:
        parser.feed(data)
        root = parser.close()
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise CaptureError(CaptureErrorCode.NOT_ONVIF) from error
    assert isinstance(root, Element)
    return root


class _NoDocumentType(ElementTree.TreeBuilder):
    def doctype(self, *_: object) -> None:
        raise ValueError("XML with a document type is not allowed")


def text_of(element: Element, name: str) -> str:
    """Return the text of the first element below ``element`` with a local name, or ""."""
    return (element.findtext(f".//{{*}}{name}") or "").strip()


def shown(text: str) -> str:
    """Return a text of a device, shortened and without control characters."""
    return "".join(filter(str.isprintable, text))[:_MAX_NAME_LENGTH]
