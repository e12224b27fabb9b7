"""The display of values: their texts, colours and places in a range, by the field configuration of their column."""
