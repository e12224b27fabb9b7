"""Pictures of dashboards: panels evaluated like queries and drawn as SVG, or as PNG on request.

``consumer`` takes requests from the queue, ``picture`` draws one. Time series and bars are drawn by Vega-Lite in a
child process (``plotter``; the program is ``child.py``); panels of text, boxes and arcs are written here. Text of users
is data: it never becomes an expression, an address or a key of a spec, and it is escaped in SVG.
"""
