"""Documents that users write: JSON, or YAML by the name of the file."""

import sys
from pathlib import Path
from typing import Any, Final

from dashwright.common.errors import Invalid
from dashwright.common.json_documents import read_json
from dashwright.common.yaml import read_yaml

STANDARD_INPUT: Final = "-"
"""The argument that means standard input instead of a file."""


def read_document(file: str) -> Any:
    """Return the document in a file, or in standard input if ``file`` is STANDARD_INPUT.

    Raises OSError, UnicodeDecodeError, or Invalid, with the name of the file, for a document that cannot be parsed.
    """
    source = sys.stdin.read() if file == STANDARD_INPUT else Path(file).read_text(encoding="utf-8")
    try:
        return read_yaml(source) if file.endswith((".yaml", ".yml")) else read_json(source)
    except Invalid as error:
        raise Invalid(f"{'standard input' if file == STANDARD_INPUT else file}: {error.message}") from error
