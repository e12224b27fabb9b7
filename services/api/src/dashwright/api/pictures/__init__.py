"""Pictures of dashboards and the pages that show them."""
