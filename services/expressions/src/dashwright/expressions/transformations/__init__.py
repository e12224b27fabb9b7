"""Transformations of panels: query results are reshaped before they are drawn, as Grafana does in the browser.

``registry`` has all transformations by id, ``pipeline`` applies those of a panel in order. The functions work on the frames of
``data``, whose cells may have any type, as in a browser.
"""
