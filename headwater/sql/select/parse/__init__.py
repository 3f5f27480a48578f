"""From a query's text to syntax: names are still names, nothing has a type.

    query        WITH, SELECT, VALUES, set operations, ORDER BY, LIMIT: begin reading here
    syntax       what comes out
    names        the relations that a text names, and other names in their places

Not here: the tokens (sql/lexer.py), what anything means (bind/).
"""
