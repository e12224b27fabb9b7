"""The chain of conversions between all versions of dashboards."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, Final

from dashwright.common.conversion import v2, v2alpha1, v2beta1
from dashwright.common.conversion.classic_to_elements import classic_to_elements
from dashwright.common.conversion.context import ConversionContext
from dashwright.common.conversion.differences import downgrade, upgrade
from dashwright.common.conversion.elements_to_classic import elements_to_classic
from dashwright.common.conversion.failures import ConversionFailed
from dashwright.common.conversion.migration.base_thresholds import without_null_bases
from dashwright.common.conversion.migration.classic import migrate_fully

__all__ = ["ALIASES", "CLASSIC_VERSIONS", "MIGRATED", "ConversionFailed", "convert"]

#: Versions whose specs list panels with grid positions.
CLASSIC_VERSIONS: Final = ("v0alpha1", "v1alpha1", "v1beta1", "v1")

#: Internal version, which clients cannot request. It is ``v1``, except that the first step of thresholds may be null, as in elements.
MIGRATED: Final = "migrated"

#: Conversion of the spec of one version to another version.
_Step = Callable[[Mapping[str, Any], ConversionContext], Mapping[str, Any]]

#: Versions by their aliases. The specs of both are the same.
ALIASES: Final = {"v1alpha1": "v1", "v1beta1": "v1"}


def convert(spec: Mapping[str, Any], source: str, target: str, context: ConversionContext) -> Mapping[str, Any]:
    """Return the spec of version ``source`` in version ``target``. The result may share parts with ``spec``.

    Raises ConversionFailed if the spec is broken, or if no chain of conversions leads from one version to the other.
    """
    for step in _chain(ALIASES.get(source, source), ALIASES.get(target, target)):
        spec = step(spec, context)
    return spec


def _unchanged(spec: Mapping[str, Any], context: ConversionContext) -> Mapping[str, Any]:
    del context
    return spec


#: The conversions between neighbouring versions, by source and target.
_STEPS: Final[Mapping[tuple[str, str], _Step]] = {
    ("v0alpha1", MIGRATED): migrate_fully,
    (MIGRATED, "v1"): without_null_bases,
    ("v1", MIGRATED): _unchanged,
    ("v1", "v0alpha1"): _unchanged,
    ("v2alpha1", "v1"): elements_to_classic,
    ("v2alpha1", "v2beta1"): upgrade(v2beta1.DIFFERENCES),
    ("v2beta1", "v2alpha1"): downgrade(v2beta1.DIFFERENCES),
    ("v2beta1", "v2"): upgrade(v2.DIFFERENCES),
    ("v2", "v2beta1"): downgrade(v2.DIFFERENCES),
    # One conversion instead of two saves a copy of each panel on the way to the classic versions.
    ("v2", "v2alpha1"): downgrade((*v2.DIFFERENCES, *v2beta1.DIFFERENCES)),
}


#: The shapes of the versions with elements. Each of them is made from a classic dashboard in one step, which saves copies.
_FORMS: Final = {"v2alpha1": v2alpha1.FORM, "v2beta1": v2beta1.FORM, "v2": v2.FORM}


@cache
def _chain(source: str, target: str) -> Sequence[_Step]:
    """Return the conversions on the shortest way between two versions."""
    if source in (*CLASSIC_VERSIONS, MIGRATED) and target in _FORMS:
        return (*_chain(source, MIGRATED), partial(classic_to_elements, form=_FORMS[target]))
    # Breadth-first search: the list grows while the loop runs over it.
    chains: dict[str, Sequence[_Step]] = {source: ()}
    for version in (reached_versions := [source]):
        for (start, end), step in _STEPS.items():
            if start == version and end not in chains:
                chains[end] = (*chains[version], step)
                reached_versions.append(end)
    if target not in chains:
        raise ConversionFailed(f"a dashboard of {source} has no form in {target}; read it in {source}")
    return chains[target]
