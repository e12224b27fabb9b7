"""Parameters of a request that is forwarded to a data source."""

from collections.abc import Sequence
from typing import Final, TypeAlias
from urllib.parse import parse_qsl

from dashwright.common.errors import BadRequest, UnsupportedMediaType
from dashwright.common.models.data_sources import SourceRecord

Parameters: TypeAlias = Sequence[tuple[str, str]]

_FORM: Final = "application/x-www-form-urlencoded"
#: Multipart forms are missing: servers read parameters from them, which would not be checked.
_ACCEPTED_TYPES: Final = (_FORM, "application/json", "application/x-ndjson")
_MAX_PARAMETERS: Final = 10_000
"""Limit on the parameters of a form."""


def check_parameters(record: SourceRecord, query: Parameters, body: bytes, content_type: str) -> None:
    """Raise BadRequest for a parameter whose value the settings of the data source determine, such as the filter of a tenant.

    Raises UnsupportedMediaType for a body that may contain parameters in a form that is not checked.
    """
    media_type = content_type.partition(";")[0].strip().lower()
    if body and media_type not in _ACCEPTED_TYPES:
        raise UnsupportedMediaType(f"the proxy forwards bodies of the types {', '.join(_ACCEPTED_TYPES)} only, not {media_type!r:.80}")
    reserved_names = {name for name, _ in parse_qsl(str(record.json_data.get("customQueryParameters") or ""), keep_blank_values=True)}
    if not reserved_names:
        return
    form = _form_parameters(body) if media_type == _FORM else ()
    for name, _ in (*query, *form):
        if name in reserved_names:
            raise BadRequest(
                f"the settings of the data source {record.name!r:.80} determine the parameter {name!r:.80}; leave it out of the request"
            )


def _form_parameters(body: bytes) -> Parameters:
    """Return the parameters of a form. Raises BadRequest if it has too many or is not UTF-8."""
    try:
        return parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MAX_PARAMETERS)
    except ValueError as error:
        raise BadRequest(f"the form for the data source cannot be read: {error}") from error
