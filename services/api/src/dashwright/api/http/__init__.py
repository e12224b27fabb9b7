"""HTTP machinery over aiohttp that knows no resource: route tables, dispatch, calls, responses, errors and the listener.

It imports only the pure domain of the gateway. Accounts and handlers come in through ports.
"""
