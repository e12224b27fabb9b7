"""What may be limited, and by which defaults: the targets of quotas and their names in settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final

UNLIMITED: Final = -1
LARGEST: Final = 2**63 - 1


class Scope(StrEnum):
    """Whose use is counted: everybody's together, an organization's, a user's."""

    GLOBAL = "global"
    ORG = "org"
    USER = "user"


ORG_TARGETS: Final = ("org_user", "dashboard", "data_source", "api_key", "alert_rule")
"""In the order they are shown."""

USER_TARGETS: Final = ("org_user",)
"""``org_user`` of a user: the organizations they are a member of."""

GLOBAL_TARGETS: Final = ("user", "org", "dashboard", "data_source", "api_key", "alert_rule")
"""Limited by settings only."""

TARGETS: Final[Mapping[Scope, tuple[str, ...]]] = MappingProxyType(
    {Scope.GLOBAL: GLOBAL_TARGETS, Scope.ORG: ORG_TARGETS, Scope.USER: USER_TARGETS}
)

_IRREGULAR: Final = {(Scope.ORG, "org_user"): "org_user", (Scope.USER, "org_user"): "user_org"}
_ELSEWHERE: Final = ("global_session", "global_file", "global_correlations")

DEFAULT_NAMES: Final = (*(f"org_{target}" if target != "org_user" else target for target in ORG_TARGETS), "user_org")
"""What a default may be set for, without the global ones."""

KNOWN_NAMES: Final = (*DEFAULT_NAMES, *(f"global_{target}" for target in GLOBAL_TARGETS), *_ELSEWHERE)
"""Every name a default may be set for; ``global_session``, ``global_file`` and ``global_correlations`` limit nothing here."""


def default_name(scope: Scope, target: str) -> str:
    """The name of a target's default in the settings: ``org_dashboard``, ``user_org``, ``global_api_key``."""
    return _IRREGULAR.get((scope, target), f"{scope}_{target}")


@dataclass(frozen=True, slots=True)
class QuotaRules:
    """Whether quotas are on, and the limits that hold where nobody set another; a target without one is unlimited."""

    enabled: bool = True
    defaults: Mapping[str, int] = field(default_factory=dict)

    def default(self, scope: Scope, target: str) -> int:
        return self.defaults.get(default_name(scope, target), UNLIMITED)


def read_defaults(text: str) -> dict[str, int]:
    """The defaults in ``org_user=10,org_dashboard=100``; any negative limit is none. Raises ValueError that says what is wrong."""
    found: dict[str, int] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, equals, limit = (piece.strip() for piece in part.partition("="))
        if name not in KNOWN_NAMES:
            raise ValueError(f"unknown quota {name!r}; known: {', '.join(KNOWN_NAMES)}")
        if name in found:
            raise ValueError(f"{name} is given twice; give one limit")
        if not equals or not limit.removeprefix("-").isdecimal() or not limit.isascii() or abs(int(limit)) > LARGEST:
            raise ValueError(f"{part!r} is no limit; write {name}=NUMBER, with -1 for none")
        found[name] = max(int(limit), UNLIMITED)
    return found
