"""Stores: functions that read and write the tables that several services use. The caller passes a connection and owns the transaction."""
