"""HTTP server code on top of aiohttp: route tables, dispatch, calls, responses, errors and the listener.

It imports only the domain of the gateway. Accounts and handlers are passed to it through protocols.
"""
