"""Where ordinary queries get their data: one module per data source type, each answering frames."""
