"""The expression kind ``math``: lexer, tree, parser, printer, and the evaluation over sets of values."""
