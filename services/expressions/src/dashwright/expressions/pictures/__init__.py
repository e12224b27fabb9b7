"""Pictures of dashboards: panels evaluated as queries are, drawn as SVG, placed in the grid, and made a PNG where one is asked for.

``consumer`` takes requests from the queue, ``picture`` draws one. Time series and bars are drawn by Vega-Lite in a child process
(``plotter``, the program is ``child.py``); what is only text, boxes and arcs is written here. Text of users is data: it stands in no
expression, address or key of a spec, and escaped in SVG.
"""
