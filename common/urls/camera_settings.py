"""Settings for the stream URLs of cameras."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, field_validator

from common.settings import Fragment, NetworkList
from common.tls import file_of_certificates
from common.urls.streams import StreamUrlRules


class CameraAddressSettings(Fragment):
    """Stream URLs that cameras can have (see common.urls.streams)."""

    camera_allow_loopback: bool = Field(
        False, description="Allow cameras on loopback addresses (127.0.0.1)."
    )
    camera_denied_networks: NetworkList = Field(
        (),
        description="Comma-separated CIDR ranges in which cameras are not allowed, for example the "
        "network of the servers, 10.10.0.0/24. Checked when a camera is saved and again for each "
        "connection, redirect and playlist.",
    )
    camera_files_folder: Path | None = Field(
        None,
        description="Folder with video files that cameras can play in a loop through file:/// "
        "URLs. Empty: not allowed.",
    )
    camera_ca_file: Annotated[str, AfterValidator(file_of_certificates)] = Field(
        "",
        description="PEM file with CA certificates for https and rtsps cameras. If set, camera "
        "certificates are verified against it, including the host name. Empty: not verified.",
    )

    @field_validator("camera_files_folder", mode="before")
    @classmethod
    def _none_if_blank(cls, value: Any) -> Any:
        return value or None

    @field_validator("camera_files_folder")
    @classmethod
    def _whole_path(cls, folder: Path | None) -> Path | None:
        if folder is not None and not folder.is_absolute():
            raise ValueError("must be an absolute path, for example /srv/clips")
        return folder


def stream_url_rules(settings: CameraAddressSettings) -> StreamUrlRules:
    """Return the rules configured for the installation."""
    return StreamUrlRules(
        allow_loopback=settings.camera_allow_loopback,
        denied_networks=",".join(map(str, settings.camera_denied_networks)),
        files_folder=settings.camera_files_folder,
    )
