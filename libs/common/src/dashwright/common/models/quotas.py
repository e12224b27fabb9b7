"""Targets of quotas, and their default limits in the settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final

UNLIMITED: Final = -1
LARGEST: Final = 2**63 - 1


class Scope(StrEnum):
    """Owner of a quota: the installation, an organization or a user."""

    GLOBAL = "global"
    ORG = "org"
    USER = "user"


#: Targets of an organization, in the order in which they are shown.
ORG_TARGETS: Final = ("org_user", "dashboard", "data_source", "api_key", "alert_rule")

#: Targets of a user. ``org_user``: the organizations that the user is a member of.
USER_TARGETS: Final = ("org_user",)

#: Targets of the installation, limited by settings only.
GLOBAL_TARGETS: Final = ("user", "org", "dashboard", "data_source", "api_key", "alert_rule")

TARGETS: Final[Mapping[Scope, tuple[str, ...]]] = MappingProxyType(
    {Scope.GLOBAL: GLOBAL_TARGETS, Scope.ORG: ORG_TARGETS, Scope.USER: USER_TARGETS}
)

_IRREGULAR: Final = {(Scope.ORG, "org_user"): "org_user", (Scope.USER, "org_user"): "user_org"}
_ELSEWHERE: Final = ("global_session", "global_file", "global_correlations")

#: Names of defaults, without the global ones.
DEFAULT_NAMES: Final = (*(f"org_{target}" if target != "org_user" else target for target in ORG_TARGETS), "user_org")

#: All names of defaults. ``global_session``, ``global_file`` and ``global_correlations`` are accepted without effect.
KNOWN_NAMES: Final = (*DEFAULT_NAMES, *(f"global_{target}" for target in GLOBAL_TARGETS), *_ELSEWHERE)


def default_name(scope: Scope, target: str) -> str:
    """Return the name of a target's default in the settings: ``org_dashboard``, ``user_org``, ``global_api_key``."""
    return _IRREGULAR.get((scope, target), f"{scope}_{target}")


@dataclass(frozen=True, slots=True)
class QuotaRules:
    """Switch of quotas, and limits of owners that have none of their own. A target without either is unlimited."""

    enabled: bool = True
    defaults: Mapping[str, int] = field(default_factory=dict)

    def default(self, scope: Scope, target: str) -> int:
        """Return the default limit of a target; -1 if unlimited."""
        return self.defaults.get(default_name(scope, target), UNLIMITED)


def read_defaults(text: str) -> dict[str, int]:
    """Return the defaults in ``org_user=10,org_dashboard=100``. Any negative limit means unlimited. Raises ValueError."""
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
