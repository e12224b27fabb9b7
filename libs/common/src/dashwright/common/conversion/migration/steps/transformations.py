"""Migrations of transformations."""

from dashwright.common.conversion.migration.document import Object, copy_list, object_at, objects


def merge_after_labels(panel: Object) -> None:
    """Add ``merge`` after each ``labelsToFields``, which merged its frames itself in older versions (version 31)."""
    transformations = panel.get("transformations")
    if isinstance(transformations, list) and any(_is(item, "labelsToFields") for item in transformations):
        with_merges = []
        for item in transformations:
            with_merges.append(item)
            if _is(item, "labelsToFields"):
                with_merges.append({"id": "merge", "options": {}})
        panel["transformations"] = with_merges


def structure_statistics(panel: Object) -> None:
    """Give each query of ``timeSeriesTable`` an object of options (version 39)."""
    transformations = panel.get("transformations")
    if any(_statistics(item) is not None for item in objects(transformations)):
        for item in objects(copy_list(panel, "transformations")):
            if (statistics := _statistics(item)) is not None:
                item["options"] = {ref_id: {"stat": statistic} for ref_id, statistic in statistics.items()}


def _statistics(item: Object) -> Object | None:
    return object_at(item, "options", "refIdToStat") if _is(item, "timeSeriesTable") else None


def _is(item: object, transformation: str) -> bool:
    return isinstance(item, dict) and item.get("id") == transformation
