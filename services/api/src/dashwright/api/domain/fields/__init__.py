"""Ownership of fields, the bookkeeping of server-side apply, as in Kubernetes' ``metadata.managedFields``.

``sets`` opens an object into fields and computes with sets of them. ``managers`` are the entries of ``managedFields``.
``ownership`` computes the entries after an update or an apply, and the conflicts of an apply.
"""
