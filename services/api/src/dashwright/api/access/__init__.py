"""Access to folders, dashboards and library panels: rules, trees of folders, and views of callers."""
