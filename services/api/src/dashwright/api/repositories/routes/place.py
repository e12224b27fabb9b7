"""The path of a repository."""

from typing import Final

from dashwright.common.kinds.registry import REPOSITORY

ONE: Final = f"/apis/{REPOSITORY.api_version()}/namespaces/{{namespace}}/{REPOSITORY.plural}/{{name}}"
