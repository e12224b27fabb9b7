"""The expression type ``math``: lexer, tree, parser, printer, and the evaluation over sets of values."""
