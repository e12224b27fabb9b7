"""One table names the reducers and one the data source types; everything else follows them."""

from typing import get_args

from dashwright.common.models.data_source_types import SUPPORTED_TYPES
from dashwright.common.models.expressions import ReducerName
from dashwright.expressions.engine import classic_reducers
from dashwright.expressions.engine.reducers import REDUCERS
from dashwright.expressions.sources.postgres import source as postgres
from dashwright.expressions.sources.prometheus import source as prometheus
from dashwright.expressions.sources.registry import BUILT_IN


def test_schemas_name_the_reducers_of_the_table() -> None:
    """A reducer is an entry of ``REDUCERS`` and a name in ``ReducerName``."""
    assert get_args(ReducerName) == tuple(REDUCERS)


def test_classic_conditions_have_the_reducers_of_the_table() -> None:
    """Each entry has the name that classic conditions use."""
    for reducer in REDUCERS.values():
        assert not reducer.classic_name or reducer.classic_name in classic_reducers.NAMES


def test_every_served_type_has_a_source() -> None:
    """Each id and alias of a served type is built in or registered by a package of ``sources``."""
    registered = {*BUILT_IN, prometheus.TYPE, *postgres.TYPES}
    assert {kind.id for kind in SUPPORTED_TYPES} <= registered
