"""Git hosts: the differences between their REST APIs, webhooks and pages, one module for each host.

A new host is a module with a ``Host`` and its name in ``registry.HOSTS``.
"""
