"""S3Proxy: an S3 server over a folder."""

from dataclasses import dataclass, field
from pathlib import Path
from string import Template

import urllib3
from minio import Minio
from minio.error import MinioException

from deploy.local.files import JARS, java_property, write_whole
from deploy.local.servers.base import (
    NotReadyError,
    PortUse,
    Program,
    check_port,
    java,
)

_HERE = Path(__file__).parents[1] / "s3"
# It stores a few pictures a second: a quick start is worth more than the last bit of speed.
_JVM = ("-Xmx192m", "-XX:TieredStopAtLevel=1")


@dataclass(frozen=True, kw_only=True)
class S3Server:
    """The embedded object storage."""

    directory: Path
    port: int
    access_key: str
    secret_key: str = field(repr=False)
    bucket: str = "platestream"
    region: str = "us-east-1"
    jars: Path = JARS / "s3"
    name: str = "s3"

    @property
    def endpoint(self) -> str:
        """What clients connect to."""
        return f"http://127.0.0.1:{self.port}"

    def ports(self) -> tuple[PortUse, ...]:
        """Return the one port."""
        return (PortUse(self.port, "PLATESTREAM_S3_PORT"),)

    def prepare(self) -> None:
        """Write the configuration and make the data folder."""
        data = self.directory / "data"
        data.mkdir(parents=True, exist_ok=True)
        template = Template((_HERE / "s3proxy.properties.template").read_text())
        text = template.substitute(
            port=self.port,
            access_key=self.access_key,
            secret_key=self.secret_key,
            data=java_property(data),
        )
        write_whole(self.directory / "s3proxy.properties", text, mode=0o600)

    def program(self) -> Program:
        """Return the server's process."""
        logging = f"-Dlogback.configurationFile={_HERE / 'logback.xml'}"
        properties = ("--properties", str(self.directory / "s3proxy.properties"))
        return Program(
            name=self.name,
            command=java(self.jars, *_JVM, logging, "org.gaul.s3proxy.Main", *properties),
            directory=self.directory,
        )

    def client(self) -> Minio:
        """Return a client that gives up after seconds rather than minutes."""
        return Minio(
            f"127.0.0.1:{self.port}",
            access_key=self.access_key,
            secret_key=self.secret_key,
            region=self.region,
            secure=False,
            http_client=urllib3.PoolManager(timeout=urllib3.Timeout(5), retries=False),
        )

    def check(self) -> None:
        """Ask for the bucket.

        Raises:
            NotReadyError: the server does not answer.
        """
        check_port(self.port)
        try:
            self.client().bucket_exists(self.bucket)
        except (MinioException, urllib3.exceptions.HTTPError) as error:
            raise NotReadyError(f"bucket {self.bucket}: {error}") from error

    def initialise(self) -> None:
        """Make the bucket if it is missing."""
        client = self.client()
        if not client.bucket_exists(self.bucket):
            client.make_bucket(self.bucket)
