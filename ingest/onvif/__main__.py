"""``python -m ingest.onvif``: finds ONVIF cameras, or lists the streams of one, in a process.

Reads a JSON request (:class:`OnvifRequest`) from standard input, so that the password does not
appear in the process list, and the URL rules from the environment. Writes a JSON report
(:class:`OnvifReport`) to standard output.

Answers are untrusted. Every address must pass the rules for cameras. A device's answer never leads
to another host: of the URLs in it, only the path is used. Sizes, times and memory are limited, and
XML with a document type is rejected.
"""

import resource
import sys
from typing import BinaryIO, Final

import msgspec

from common.errors import InvalidInputError
from common.settings import load_settings
from common.urls.camera_settings import CameraAddressSettings, stream_url_rules
from ingest.errors import CaptureError, CaptureErrorCode
from ingest.onvif.device import list_streams
from ingest.onvif.discovery import find_devices
from ingest.onvif.messages import OnvifReport, OnvifRequest
from ingest.processes.limits import limit_process

_MEMORY_BYTES: Final = 512 * 1024**2
_PROCESSOR_SECONDS: Final = 10


def main(source: BinaryIO, output: BinaryIO) -> None:
    """Handle the request read from ``source``, and write the report to ``output``."""
    limit_process(_MEMORY_BYTES, {resource.RLIMIT_CPU: _PROCESSOR_SECONDS})
    settings = load_settings(CameraAddressSettings)
    rules = stream_url_rules(settings)
    request = msgspec.json.decode(source.read(), type=OnvifRequest)
    try:
        if request.device_url:
            report = OnvifReport(streams=list_streams(request, rules, settings.camera_ca_file))
        else:
            report = OnvifReport(devices=find_devices(request.address, rules))
    except (CaptureError, InvalidInputError) as error:
        code = error.code if isinstance(error, CaptureError) else CaptureErrorCode.FORBIDDEN
        report = OnvifReport(code=code.name.lower(), error=code.value)
    output.write(msgspec.json.encode(report))
    output.flush()


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
