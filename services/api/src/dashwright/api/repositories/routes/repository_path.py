"""The path template of a repository in the resource API, in the preferred version."""

from typing import Final

from dashwright.common.kinds.registry import REPOSITORY

REPOSITORY_PATH: Final = f"/apis/{REPOSITORY.api_version()}/namespaces/{{namespace}}/{REPOSITORY.plural}/{{name}}"
