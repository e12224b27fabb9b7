"""Conversion of targets, the JSON form in which clients write expressions, to the expressions of the engine."""

from collections.abc import Callable
from typing import Any

from dashwright.common.errors import BadRequest, Invalid
from dashwright.common.json_documents import write_json
from dashwright.common.models.expressions import (
    ClassicConditionsTarget,
    FormattedSqlTarget,
    MathTarget,
    ReduceTarget,
    ResampleTarget,
    SqlTarget,
    Target,
    ThresholdCondition,
    ThresholdTarget,
)
from dashwright.expressions.engine.classic import ClassicConditions, Condition
from dashwright.expressions.engine.expression import Expression, TableExpression, ref_id_of
from dashwright.expressions.engine.hysteresis import Hysteresis, fingerprints_of
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.math.evaluate import Math
from dashwright.expressions.engine.reduce import Reduce
from dashwright.expressions.engine.resample import Resample
from dashwright.expressions.engine.threshold import Threshold, predicate_of
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.formats.frame_reader import read_frames
from dashwright.expressions.sql.engine import SqlEngine
from dashwright.expressions.sql.expression import SqlExpression


def _math(target: MathTarget, _time_range: TimeRange, limits: Limits) -> Expression:
    try:
        return Math.parse(target.expression, limits)
    except BadRequest as error:
        raise BadRequest(f"invalid math command: {error.message}", details=error.details) from error


def _reduce(target: ReduceTarget, _time_range: TimeRange, _limits: Limits) -> Expression:
    settings = target.settings
    if settings is None:
        return Reduce.of(target.expression, target.reducer)
    return Reduce.of(target.expression, target.reducer, settings.mode, settings.replace_with_value)


def _resample(target: ResampleTarget, time_range: TimeRange, limits: Limits) -> Expression:
    return Resample.of(_input_ref_id(target), target.window, target.downsampler, target.upsampler, time_range, limits)


def _classic(target: ClassicConditionsTarget, _time_range: TimeRange, _limits: Limits) -> Expression:
    return ClassicConditions.of(
        [
            Condition.of(
                index,
                condition.operator.type,
                condition.query.params,
                condition.reducer.type,
                condition.evaluator.type,
                condition.evaluator.params,
            )
            for index, condition in enumerate(target.conditions, 1)
        ]
    )


def _threshold(target: ThresholdTarget, _time_range: TimeRange, _limits: Limits) -> Expression:
    if len(target.conditions) != 1:
        raise BadRequest(f"threshold expression requires exactly one condition, got {len(target.conditions)}")
    condition = target.conditions[0]
    return Threshold(_input_ref_id(target), predicate_of(condition.evaluator.type, condition.evaluator.params), _hysteresis(condition))


def _hysteresis(condition: ThresholdCondition) -> Hysteresis | None:
    if condition.unload_evaluator is None:
        return None
    unload_condition = predicate_of(condition.unload_evaluator.type, condition.unload_evaluator.params)
    return Hysteresis(unload_condition, _loaded_fingerprints(condition.loaded_dimensions) if condition.loaded_dimensions else frozenset())


def _loaded_fingerprints(loaded_dimensions: dict[str, Any]) -> frozenset[int]:
    """Return the fingerprints of the items that were firing before, from the JSON of their frame. Raises BadRequest."""
    try:
        # ``read_frames`` checks encoded JSON.
        return fingerprints_of(read_frames(write_json([loaded_dimensions]))[0])
    except (BadRequest, Invalid) as error:
        raise BadRequest(f"failed to parse loaded dimensions: {error.message}") from error


def _input_ref_id(target: ResampleTarget | ThresholdTarget) -> str:
    """Return the refId of the input of a target. Raises BadRequest if the target names none."""
    return ref_id_of(target.expression, f"no variable specified to reference for refId {target.ref_id}")


def _sql(target: SqlTarget, engine: SqlEngine | None) -> SqlExpression:
    if engine is None:
        raise BadRequest(
            f"sql expressions are disabled, so '{target.ref_id}' was not run; turn them on with DASHWRIGHT_FEATURES=sqlExpression",
            message_id="sse.sql.disabled",
        )
    return SqlExpression.parse(target.ref_id, target.expression, target.format if isinstance(target, FormattedSqlTarget) else "", engine)


#: Functions that create the expression of a target, by its model.
_BUILDERS: dict[type[Target], Callable[[Any, TimeRange, Limits], Expression]] = {
    MathTarget: _math,
    ReduceTarget: _reduce,
    ResampleTarget: _resample,
    ClassicConditionsTarget: _classic,
    ThresholdTarget: _threshold,
}


def expression_of(target: Target, time_range: TimeRange, limits: Limits, sql: SqlEngine | None) -> Expression | TableExpression:
    """Return the expression of a target. ``sql`` runs SQL statements if the feature is on.

    Raises BadRequest if the expression is invalid, TooLarge if it is too long.
    """
    source = getattr(target, "expression", "")
    if len(source) > limits.expression_length:
        raise limits.refusal("expression_length", f"the expression of '{target.ref_id}' has {len(source)} characters", "split it")
    if isinstance(target, SqlTarget):
        return _sql(target, sql)
    try:
        return _BUILDERS[type(target)](target, time_range, limits)
    except BadRequest as error:
        message = f"failed to parse expression '{target.ref_id}': {error.message}"
        raise BadRequest(message, message_id="sse.parseError", details=error.details) from error
