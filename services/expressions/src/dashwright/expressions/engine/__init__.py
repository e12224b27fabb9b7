"""The expression engine, pure: numpy, the standard library and the tree of errors only.

It holds values and their shapes, the conversion of frames to values, the graph of a request, and one module or package
for each type of expression. It knows no JSON, HTTP, data sources or time of day.
"""
