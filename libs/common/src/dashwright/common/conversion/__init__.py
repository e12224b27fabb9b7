"""Conversion of dashboard specs between API versions: pure functions over JSON documents.

Classic versions (``v0alpha1`` to ``v1``) list panels with grid positions. Later versions (``v2alpha1`` to ``v2``) have named
elements and a layout. Rules follow Grafana 12.4.
"""
