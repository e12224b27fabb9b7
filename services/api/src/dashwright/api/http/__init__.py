"""HTTP machinery over aiohttp that knows no resource: route tables, dispatch, calls and answers, error shapes, credentials, the listener.

Of the gateway's other packages it imports the pure domain only; what it needs of them (accounts, handlers) comes in through ports.
"""
