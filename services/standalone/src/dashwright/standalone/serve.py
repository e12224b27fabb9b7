"""``dashwright serve``: runs the whole system in one process."""

import os
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from dashwright.common.imports import without_garbage_collection


def run(
    *,
    port: Annotated[int | None, Parameter(validator=Number(gte=0, lte=65535))] = None,
    data_dir: Path | None = None,
) -> int:
    """Start the whole system in this process. Options override the DASHWRIGHT_… variables.

    Parameters
    ----------
    port
        The port of the gateway, instead of DASHWRIGHT_HTTP_PORT (3000); 0 selects a free port.
    data_dir
        The directory of the database and all other data, instead of DASHWRIGHT_DATA_DIR (.dashwright).
    """
    # Imported as the command runs, so that the help of the command line loads no service.
    with without_garbage_collection():
        from dashwright.common import process
        from dashwright.common.settings import PREFIX
        from dashwright.standalone.one_process import SERVICE, serve
    options = {"HTTP_PORT": port, "DATA_DIR": data_dir}
    os.environ.update({PREFIX + name: str(value) for name, value in options.items() if value is not None})
    return process.run(SERVICE, serve)
