"""Encoding of label sets as JSON, by columns of strings."""

from collections.abc import Sequence

import orjson

from dashwright.expressions.engine.labels import LabelSets

#: The JSON between two strings of an array. Quotes inside a string are escaped, so it occurs nowhere else.
_SEPARATOR = b'","'


def encode_strings(strings: Sequence[str]) -> list[bytes]:
    """Return each string as JSON, without quotes."""
    return orjson.dumps(list(strings))[2:-2].split(_SEPARATOR) if strings else []


def encode_labels(labels: LabelSets) -> list[bytes]:
    """Return each label set as a JSON object."""
    if not labels.columns:
        return [orjson.dumps(dict(label_set.pairs)) for label_set in labels]
    members = [b'%s:"%%s"' % orjson.dumps(key).replace(b"%", b"%%") for key in labels.keys]
    template = b"{" + b",".join(members) + b"}"
    return [template % row for row in zip(*map(encode_strings, labels.columns), strict=True)]
