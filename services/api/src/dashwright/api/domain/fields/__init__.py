"""Who owns which field of an object: the bookkeeping of server-side apply, as Kubernetes' ``metadata.managedFields`` tells it. Pure.

``nodes`` opens an object into fields, ``sets`` reckons with sets of them, ``tracked`` says which parts of an object are owned at all,
``managers`` are the entries of ``managedFields``, ``ownership`` what an update and an apply make of them, ``conflicts`` what an apply is
refused for.
"""
