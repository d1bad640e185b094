"""Runs S3Proxy, an S3 server that stores objects in a folder."""

from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from common.errors import TransientError
from deploy.local.files import JARS, java_property, write_whole
from deploy.local.servers.base import (
    JAVA_VARIABLES,
    NotReadyError,
    Program,
    Server,
    check_port,
    java,
)

if TYPE_CHECKING:
    from common.s3 import S3Bucket

_HERE = Path(__file__).parents[1] / "s3"
# Without the optimising compiler, the server starts faster and still handles a few images/second.
_JVM = ("-Xms32m", "-Xmx192m", "-XX:TieredStopAtLevel=1")


@dataclass(frozen=True, kw_only=True)
class S3Server(Server):
    """The embedded object storage."""

    access_key: str
    secret_key: str = field(repr=False)
    bucket: str = "platestream"
    region: str = "us-east-1"
    jars: Path = JARS / "s3"
    name: str = "s3"

    @property
    def endpoint(self) -> str:
        """The URL that clients use."""
        return f"http://127.0.0.1:{self.port}"

    def prepare(self) -> None:
        """Write the configuration and create the data folder."""
        self._data.mkdir(parents=True, exist_ok=True)
        template = Template((_HERE / "s3proxy.properties.template").read_text())
        text = template.substitute(
            endpoint=self.endpoint,
            access_key=self.access_key,
            secret_key=self.secret_key,
            data=java_property(self._data),
        )
        write_whole(self.directory / "s3proxy.properties", text, mode=0o600)

    def program(self) -> Program:
        """Return the command that starts the server's process."""
        logging = f"-Dlogback.configurationFile={_HERE / 'logback.xml'}"
        properties = ("--properties", str(self.directory / "s3proxy.properties"))
        return Program(
            name=self.name,
            command=java(self.jars, *_JVM, logging, "org.gaul.s3proxy.Main", *properties),
            variables=JAVA_VARIABLES,
            directory=self.directory,
        )

    def images(self) -> "S3Bucket":
        """Return a client for the bucket, with timeouts of seconds instead of minutes."""
        # Imported here because the imports take longer than the rest of a command such as `status`.
        from common.s3 import S3Bucket
        from common.settings import S3Settings

        settings = S3Settings.model_validate(
            {
                "s3_endpoint": self.endpoint,
                "s3_region": self.region,
                "s3_bucket": self.bucket,
                "s3_access_key": self.access_key,
                "s3_secret_key": self.secret_key,
            }
        )
        return S3Bucket(settings, read_seconds=5, connections=1)

    def check(self) -> None:
        """Ask the server whether the bucket exists. Either answer shows that the server is ready.

        Raises:
            NotReadyError: the server is not responding.
        """
        check_port(self.port)
        try:
            self.images().exists()
        except TransientError as error:
            raise NotReadyError(f"bucket {self.bucket}: {error}") from error

    def initialise(self) -> None:
        """Create the bucket if it is missing."""
        images = self.images()
        if not images.exists():
            images.make()

    @property
    def _data(self) -> Path:
        return self.directory / "data"
