"""The classic API of dashboards, folders, library elements and annotations, by the rules of the resource API."""
