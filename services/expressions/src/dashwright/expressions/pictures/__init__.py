"""Pictures of dashboards and panels: panels are evaluated like queries and drawn as SVG or PNG.

``consumer`` consumes requests from the queue and ``picture`` draws one picture. Vega-Lite draws time series and bar charts
in a child process, which ``plotter`` starts from ``child.py``. ``panels`` writes other panels as SVG. Text that users
wrote never becomes an expression, an address or a key of a Vega-Lite spec, and is escaped in SVG.
"""
