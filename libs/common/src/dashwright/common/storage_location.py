"""The place where objects are stored: a directory, or a bucket of a server that is compatible with S3."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr


@dataclass(frozen=True, slots=True)
class StorageLocation:
    """Directory or bucket with its credentials."""

    directory: Path | None  #: None for a bucket.
    bucket: str = ""
    prefix: str = ""  #: Prefix of all objects in the bucket, without slashes around it.
    endpoint: str = ""  #: Address of the server; empty for AWS.
    region: str = ""
    access_key: SecretStr | None = None  #: None: the credentials are those that AWS gives to the machine.
    secret_key: SecretStr | None = None
