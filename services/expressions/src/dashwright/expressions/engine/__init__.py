"""The expression engine, pure: numpy, the standard library and the tree of errors only.

What may live here: values and their shapes, the conversion of frames to values, the graph of a request, and one module (or package)
per expression kind. Nothing here knows JSON, HTTP, data sources or the time of day.
"""
