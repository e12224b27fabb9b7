"""Schemas, classic conditions and sources agree with the tables of reducers and of data source types."""

from typing import get_args

from dashwright.common.models.data_source_types import SUPPORTED_TYPES
from dashwright.common.models.expressions import ReducerName
from dashwright.expressions.engine import classic_reducers
from dashwright.expressions.engine.reducers import REDUCERS
from dashwright.expressions.sources.postgres import source as postgres
from dashwright.expressions.sources.prometheus import source as prometheus
from dashwright.expressions.sources.registry import BUILT_IN


def test_schemas_have_the_reducers_of_the_table() -> None:
    """``ReducerName`` has the names of ``REDUCERS``, in the same order."""
    assert get_args(ReducerName) == tuple(REDUCERS)


def test_classic_conditions_have_the_reducers_of_the_table() -> None:
    """Each reducer with a classic name has a reducer of this name in classic conditions."""
    for reducer in REDUCERS.values():
        assert not reducer.classic_name or reducer.classic_name in classic_reducers.NAMES


def test_every_served_type_has_a_source() -> None:
    """The id of each supported type is built in or registered by a package of ``sources``."""
    registered = {*BUILT_IN, prometheus.TYPE, *postgres.TYPES}
    assert {type_.id for type_ in SUPPORTED_TYPES} <= registered
