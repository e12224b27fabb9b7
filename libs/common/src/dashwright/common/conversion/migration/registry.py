"""The migrations of classic dashboards, by the schema version that they lead to.

Panels in rows are migrated like other panels. Grafana 12.4 skips them in some migrations, a defect that later versions correct.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeAlias

from dashwright.common.conversion.context import ConversionContext
from dashwright.common.conversion.migration import document
from dashwright.common.conversion.migration.document import Object
from dashwright.common.conversion.migration.steps import (
    cloudwatch,
    data_sources,
    early,
    fields,
    grid,
    influxdb,
    links,
    panels,
    tables,
    thresholds,
    transformations,
    value_mappings,
    variables,
)

#: Change of a draft (see ``document``) that may depend on the objects of the organization.
Migration: TypeAlias = Callable[[Object, ConversionContext], None]
_Change: TypeAlias = Callable[[Object], None]
_Parts: TypeAlias = Callable[[Object], Iterable[Object]]


@dataclass(frozen=True, slots=True)
class _ChangesOfParts:
    """Migration that changes each part of a dashboard."""

    parts: _Parts
    changes: Sequence[_Change]  #: The changes of a part, in their order.

    def __call__(self, dashboard: Object, context: ConversionContext) -> None:
        """Change each part of a draft."""
        del context
        for part in self.parts(dashboard):
            for change in self.changes:
                change(part)


def _for_each(parts: _Parts, change: _Change) -> Migration:
    """Return the migration that changes each part of a dashboard."""
    return _ChangesOfParts(parts, (change,))


def _for_dashboard(change: _Change) -> Migration:
    """Return the migration that changes a dashboard without its context."""

    def migrate(dashboard: Object, context: ConversionContext) -> None:
        del context
        change(dashboard)

    return migrate


def _sequence(first: Migration, second: Migration) -> Migration:
    """Return the migration that runs ``first`` and then ``second``."""

    def migrate(dashboard: Object, context: ConversionContext) -> None:
        first(dashboard, context)
        second(dashboard, context)

    return migrate


_PANELS: Final = document.all_panels
_PANELS_OF_ANY_LAYOUT: Final = document.panels_in_any_layout
_VARIABLES: Final = document.variables

#: Migrations by schema version. A version without an entry changes nothing but the number.
MIGRATIONS: Final[Mapping[int, Migration]] = {
    2: _for_dashboard(early.move_filters),
    6: _for_dashboard(early.move_annotations),
    7: _for_dashboard(early.move_time_picker),
    8: _for_each(_PANELS_OF_ANY_LAYOUT, influxdb.restructure_queries),
    9: _for_each(_PANELS_OF_ANY_LAYOUT, thresholds.drop_first_of_singlestat),
    10: _for_each(_PANELS_OF_ANY_LAYOUT, thresholds.drop_first_of_table),
    12: _for_each(_VARIABLES, variables.number_refresh),
    14: _for_dashboard(early.replace_shared_crosshair),
    16: _for_dashboard(grid.place_on_grid),
    17: _for_each(_PANELS, grid.limit_panels_per_row),
    18: _for_each(_PANELS, panels.restructure_gauge),
    19: _for_each(_PANELS, links.give_links_a_url),
    20: _for_each(_PANELS, links.use_dotted_names),
    21: _for_each(_PANELS, links.use_labels_of_fields),
    22: _for_each(_PANELS, tables.align_columns),
    23: _for_each(_VARIABLES, variables.align_current),
    24: _for_each(_PANELS, tables.mark_old_table),
    26: _for_each(_PANELS, panels.rename_text2),
    27: _sequence(_for_dashboard(panels.drop_repeated), _for_each(_VARIABLES, variables.convert_constant)),
    28: _for_each(_VARIABLES, variables.drop_tags),
    29: _for_each(_VARIABLES, variables.refresh_queries),
    30: _for_each(_PANELS, value_mappings.upgrade_mappings),
    31: _for_each(_PANELS, transformations.merge_after_labels),
    33: data_sources.resolve_names,
    34: _sequence(_for_each(_PANELS, cloudwatch.split_queries), _for_dashboard(cloudwatch.split_annotations)),
    35: _for_each(_PANELS, fields.show_time_axis),
    36: data_sources.reference_everywhere,
    37: _for_each(_PANELS, panels.normalize_legend),
    38: _for_each(_PANELS, tables.use_cell_options),
    39: _for_each(_PANELS, transformations.structure_statistics),
    40: _for_dashboard(early.make_refresh_a_text),
    41: _for_dashboard(early.drop_time_options),
    42: _for_each(_PANELS, fields.hide_from_tooltip),
}
#: The schema version of dashboards that Grafana 12.4 writes.
LATEST: Final = max(MIGRATIONS)


@cache
def migrations_between(version: int, target: int) -> Sequence[Migration]:
    """Return the migrations from one schema version to a later one. Successive changes of the same parts are made in one walk."""
    migrations: list[Migration] = []
    for next_version in range(version + 1, target + 1):
        migration = MIGRATIONS.get(next_version)
        previous = migrations[-1] if migrations else None
        if isinstance(migration, _ChangesOfParts) and isinstance(previous, _ChangesOfParts) and migration.parts is previous.parts:
            migrations[-1] = _ChangesOfParts(migration.parts, (*previous.changes, *migration.changes))
        elif migration is not None:
            migrations.append(migration)
    return migrations
