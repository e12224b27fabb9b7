"""Rows that only the gateway needs: accounts, organizations and what hangs on them. SQL lies beside each module, by its name."""
