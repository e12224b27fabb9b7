"""The classic API of dashboards, folders, library elements and annotations, over the same objects as the resource API."""
