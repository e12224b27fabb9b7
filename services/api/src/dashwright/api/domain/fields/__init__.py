"""Ownership of fields, the bookkeeping of server-side apply, as in Kubernetes' ``metadata.managedFields``.

``sets`` splits an object into fields and computes with sets of fields. ``managers`` are the entries of ``managedFields``.
``ownership`` computes the entries after an update or an apply, and the conflicts of an apply.
"""
