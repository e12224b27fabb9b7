"""All transformations by id, with Grafana's defaults of their options."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from dashwright.expressions.transformations.calculate_field import calculate_field
from dashwright.expressions.transformations.concatenate import concatenate
from dashwright.expressions.transformations.config_from_data import config_from_data
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.convert_field_type import convert_field_type
from dashwright.expressions.transformations.convert_frame_type import convert_frame_type
from dashwright.expressions.transformations.data import Frames
from dashwright.expressions.transformations.extract_fields import extract_fields
from dashwright.expressions.transformations.filter_by_value import filter_by_value
from dashwright.expressions.transformations.filters import filter_by_ref_id, filter_fields, filter_fields_by_name, filter_frames
from dashwright.expressions.transformations.format_string import format_string
from dashwright.expressions.transformations.format_time import format_time
from dashwright.expressions.transformations.group_by import group_by
from dashwright.expressions.transformations.group_to_nested_table import group_to_nested_table
from dashwright.expressions.transformations.grouping_to_matrix import grouping_to_matrix
from dashwright.expressions.transformations.heatmap import heatmap
from dashwright.expressions.transformations.histogram import histogram
from dashwright.expressions.transformations.join_by_field import join_by_field, join_series
from dashwright.expressions.transformations.join_by_labels import join_by_labels
from dashwright.expressions.transformations.labels_to_fields import labels_to_fields
from dashwright.expressions.transformations.limit import limit
from dashwright.expressions.transformations.merge import merge
from dashwright.expressions.transformations.organize import order, organize, rename
from dashwright.expressions.transformations.partition_by_values import partition_by_values
from dashwright.expressions.transformations.prepare_time_series import prepare_time_series
from dashwright.expressions.transformations.reduce import reduce
from dashwright.expressions.transformations.regression import regression
from dashwright.expressions.transformations.rename_by_regex import rename_by_regex
from dashwright.expressions.transformations.rows_to_fields import rows_to_fields
from dashwright.expressions.transformations.series_to_rows import series_to_rows
from dashwright.expressions.transformations.sort_by import sort_by
from dashwright.expressions.transformations.time_series_table import time_series_table
from dashwright.expressions.transformations.transpose import transpose


@dataclass(frozen=True, slots=True)
class Transformation:
    """A function on frames, with defaults of its options."""

    apply: Callable[[Frames, Mapping[str, Any], Context], Frames]
    defaults: Mapping[str, Any] = field(default_factory=dict)


#: All transformations by id.
TRANSFORMATIONS: Final[Mapping[str, Transformation]] = {
    "calculateField": Transformation(calculate_field, {"mode": "reduceRow", "reduce": {"reducer": "sum"}}),
    "concatenate": Transformation(concatenate, {"frameNameMode": "field", "frameNameLabel": "frame"}),
    "configFromData": Transformation(config_from_data, {"configRefId": "config"}),
    "convertFieldType": Transformation(convert_field_type),
    "convertFrameType": Transformation(convert_frame_type),
    "ensureColumns": Transformation(lambda frames, _options, context: join_series(frames, context)),
    "extractFields": Transformation(extract_fields, {"delimiter": ","}),
    "filterByRefId": Transformation(filter_by_ref_id),
    "filterByValue": Transformation(filter_by_value, {"type": "include", "match": "any"}),
    "filterFields": Transformation(filter_fields),
    "filterFieldsByName": Transformation(filter_fields_by_name),
    "filterFrames": Transformation(filter_frames),
    "formatString": Transformation(format_string, {"stringField": "", "outputFormat": "Upper Case"}),
    "formatTime": Transformation(format_time, {"timeField": "", "outputFormat": ""}),
    "groupBy": Transformation(group_by),
    "groupToNestedTable": Transformation(group_to_nested_table, {"showSubframeHeaders": True}),
    "groupingToMatrix": Transformation(grouping_to_matrix, {"columnField": "Time", "rowField": "Time", "valueField": "Value"}),
    "heatmap": Transformation(heatmap),
    "histogram": Transformation(histogram),
    "joinByField": Transformation(join_by_field, {"mode": "outer"}),
    "joinByLabels": Transformation(join_by_labels),
    "labelsToFields": Transformation(labels_to_fields),
    "limit": Transformation(limit, {"limitField": 10}),
    "merge": Transformation(merge),
    "noop": Transformation(lambda frames, _options, _context: frames),
    "order": Transformation(order),
    "organize": Transformation(organize),
    "partitionByValues": Transformation(partition_by_values),
    "prepareTimeSeries": Transformation(prepare_time_series),
    "reduce": Transformation(reduce, {"reducers": ["max"]}),
    "regression": Transformation(regression, {"predictionCount": 100, "modelType": "linear", "degree": 2}),
    "rename": Transformation(rename),
    "renameByRegex": Transformation(rename_by_regex, {"regex": "(.*)", "renamePattern": "$1"}),
    "rowsToFields": Transformation(rows_to_fields),
    "seriesToColumns": Transformation(join_by_field, {"mode": "outer"}),
    "seriesToRows": Transformation(series_to_rows),
    "sortBy": Transformation(sort_by),
    "timeSeriesTable": Transformation(time_series_table),
    "transpose": Transformation(transpose),
}

#: Transformations of Grafana that leave the frames unchanged here, with the reason.
UNSUPPORTED: Final[Mapping[str, str]] = {
    "fieldLookup": "there is no table of places in which fields could be looked up",
    "spatial": "shapes on maps are not calculated",
}
