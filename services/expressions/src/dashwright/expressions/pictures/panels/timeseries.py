"""Time series panels: lines, areas, bars and points on one or several axes, with thresholds and a legend, as Grafana draws them."""

from dashwright.expressions.pictures.extents import texts_fit
from dashwright.expressions.pictures.panels.drawing import Cell, NothingToDraw, PanelDrawing, PanelProps
from dashwright.expressions.pictures.panels.legend import with_legend
from dashwright.expressions.pictures.panels.series_legend import legend_entries
from dashwright.expressions.pictures.plots import axes as plot_axes
from dashwright.expressions.pictures.plots.marks import Plot, exceed_plot, series_elements, stay_near_plot
from dashwright.expressions.pictures.plots.plotted import PlottedSeries, plotted_series
from dashwright.expressions.pictures.plots.threshold_marks import has_thresholds, threshold_elements
from dashwright.expressions.pictures.svg import moved, nested

#: Pixels above the plot, next to it where it has no axis, and outside of an axis.
_TOP, _SIDE, _EDGE = 8.0, 10.0, 5.0
#: The part of the width that the axes of one side take at most.
_MAX_AXIS_SHARE = 0.4


def draw(props: PanelProps) -> PanelDrawing:
    """Return the chart. Raises NothingToDraw if no frame has a time column."""
    plotted = plotted_series(props.panel, props.frames, props.theme, props.start, props.end, props.width)
    if not plotted:
        raise NothingToDraw("No data" if not props.frames else "No time in the data")
    right_scales = frozenset(axis.key for axis in plot_axes.value_axes(plotted, props.height) if axis.is_right)
    entries, columns = legend_entries(plotted, props.panel.options.get("legend"), right_scales)
    legend, area = with_legend(props, entries, columns)
    plot, texts = _chart(props, plotted, area)
    has_room = area.height >= _TOP + plot_axes.TIME_AXIS_HEIGHT and stay_near_plot(plotted, _EDGE)
    texts += legend
    return PanelDrawing([plot, *texts], is_contained=has_room and texts_fit(texts, props.width, props.height))


def _chart(props: PanelProps, plotted: list[PlottedSeries], area: Cell) -> tuple[str, list[str]]:
    """Return the plot in a part of the panel, and the elements of its axes."""
    height = max(area.height - _TOP - plot_axes.TIME_AXIS_HEIGHT, 1.0)
    axes = plot_axes.value_axes(plotted, height)
    widths = (sum(axis.width for axis in axes if axis.is_right == is_right) for is_right in (False, True))
    # The axes of a narrow panel leave room for the plot.
    left, right = (min(width + _EDGE if width else _SIDE, area.width * _MAX_AXIS_SHARE) for width in widths)
    plot = Plot(max(area.width - left - right, 1.0), height, props.start, props.end, props.zone)
    scales = plot_axes.scales_by_key(axes)
    content = plot_axes.grid_elements(axes, plot, props.theme)
    # Reversed, so that the thresholds of a scale are those of the first series on it that has some.
    styles = {series.scale: series.style for series in reversed(plotted) if has_thresholds(series.style) and series.scale in scales}
    for key, style in reversed(styles.items()):
        content += threshold_elements(style, scales[key], plot)
    content += series_elements(plotted, scales, plot)
    x, y = area.x + left, area.y + _TOP
    # Clipping takes more time than all else in a PNG.
    is_clipped = exceed_plot(plotted, scales)
    return nested(content, x, y, plot.width, plot.height) if is_clipped else moved(content, x, y), [
        *plot_axes.value_axis_elements(axes, x, y, plot.width, props.theme),
        *plot_axes.time_axis_elements(plot, x, y, (area.x, area.x + area.width), props.theme),
    ]
