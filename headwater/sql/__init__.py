"""SQL: text to statements, statements to plans.  Pure: no catalog writes, no I/O.

    text --lexer--> tokens --cursor, statements/--> statement --(coordinator)--> effects
                                                       |
                                        spans of text: queries, expressions
                                                       |
                                                    select/ --> typed plan --> Spark, DuckDB

A statement knows nothing of the catalog: names are names, and expressions and queries
are texts with their place.  `statements/` is the list of what can be said; `parse.py`
has the functions.
"""
