"""Rules of JavaScript for values: conversions, comparisons and sorting as browsers do them.

Grafana transforms query results in the browser, so results of its transformations depend on these rules.
"""
