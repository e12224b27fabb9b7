"""Values as text with their units, as Grafana shows them: a module for each family of units, and ``registry`` to find them by id."""
