"""Pictures of dashboards and panels: panels are evaluated like queries and drawn as SVG or PNG.

``consumer`` consumes requests from the queue and ``picture`` draws one picture. ``panels`` writes panels as SVG, in which
the text of users is escaped. A child process, which ``plotter`` starts from ``child.py``, makes the PNG.
"""
