"""Who may do what with which folder, dashboard and library panel."""
