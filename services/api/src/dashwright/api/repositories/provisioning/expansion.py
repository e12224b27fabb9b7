"""Expansion of ``$__file{/path}`` and ``$__env{NAME}`` in secrets, as in Grafana's provisioning."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from dashwright.api.repositories.provisioning import regular_files
from dashwright.common.errors import Invalid

# The closing brace is optional, so that an expression without it is an error instead of ordinary text.
_EXPRESSION: Final = re.compile(r"\$__(\w+)\{([^{}]*)(\}?)")
_MAX_SECRET_BYTES: Final = 64 * 1024
"""Limit on the bytes of a file with a secret."""


def expand_secrets(secure: Any, environment: Mapping[str, str]) -> Any:
    """Return the member ``secure`` of an object with its expressions replaced.

    Only ``secure.*.create`` and ``secure.notifications.*.create`` may have expressions.

    Raises Invalid, naming the field and the missing file or variable.
    """
    if not isinstance(secure, dict):
        return secure  # The check of the object raises the error.
    expanded = {name: _expand_secret(name, secret, environment) for name, secret in secure.items()}
    if isinstance(receivers := secure.get("notifications"), dict):
        expanded["notifications"] = {
            name: _expand_secret(f"notifications.{name}", secret, environment) for name, secret in receivers.items()
        }
    return expanded


def _expand_secret(name: str, secret: Any, environment: Mapping[str, str]) -> Any:
    """Return a secret with the expressions in ``create`` replaced. ``name`` is its path below ``secure``."""
    if not isinstance(secret, dict) or not isinstance(secret.get("create"), str):
        return secret
    try:
        return {**secret, "create": expand(secret["create"], environment)}
    except Invalid as error:
        raise Invalid(f"secure.{name}.create: {error.message}") from error


def expand(value: str, environment: Mapping[str, str]) -> str:
    """Return a string with each expression replaced by its value without surrounding white space.

    Raises Invalid for a malformed expression, and for a missing or empty file or variable.
    """
    return _EXPRESSION.sub(lambda match: _value_of(match, environment), value)


def _value_of(match: "re.Match[str]", environment: Mapping[str, str]) -> str:
    """Return the value of an expression. Raises the errors of ``expand``."""
    source, argument, end = match.groups()
    if source not in ("file", "env"):
        raise Invalid(f"$__{source}{{…}} is unknown: use $__file{{/path}} or $__env{{NAME}}")
    if not end:
        raise Invalid(f"$__{source}{{ is not closed: add }} after its argument")
    value = (_read_file(argument) if source == "file" else _read_variable(argument, environment)).strip()
    if not value:
        raise Invalid(f"$__{source}{{{argument}}} is empty: put the secret there")
    return value


def _read_file(path: str) -> str:
    if not path.startswith("/"):
        raise Invalid(f"$__file{{{path}}} is not an absolute path: begin it with /")
    return regular_files.read_text(Path(path), max_bytes=_MAX_SECRET_BYTES)


def _read_variable(name: str, environment: Mapping[str, str]) -> str:
    if name not in environment:
        raise Invalid(f"the environment variable '{name}' is missing: set it for the gateway")
    return environment[name]
