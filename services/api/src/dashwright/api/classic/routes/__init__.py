"""Routes of the classic API of dashboards, folders, library elements and annotations."""
