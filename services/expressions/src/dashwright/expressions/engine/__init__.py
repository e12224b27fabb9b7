"""The expression engine. It imports numpy, the standard library and the common exception classes only.

It holds values and their shapes, the conversion of frames to values, the graph of a request, and one module or package
for each type of expression. It does not read JSON, serve HTTP or query data sources.
"""
