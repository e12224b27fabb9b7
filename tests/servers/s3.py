"""A server that imitates S3 (moto), in this process and on loopback."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from urllib.request import Request, urlopen

from moto.server import ThreadedMotoServer

BUCKET: Final = "results"
ACCESS_KEY: Final = "key"
SECRET_KEY: Final = "secret"


@contextmanager
def s3_server() -> Iterator[str]:
    """Yield the address of a server with an empty bucket."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        address = f"http://{host}:{port}"
        with urlopen(Request(f"{address}/moto-api/reset", method="POST")), urlopen(Request(f"{address}/{BUCKET}", method="PUT")):
            pass
        yield address
    finally:
        server.stop()
