"""Values between their forms: text, COPY data and JSON on one side, typed Arrow columns on the other.

arrow                 SQL types to Arrow types: the one place that resolves stored forms
text, text_*          PostgreSQL's text form of every type, both ways, column-wise
copy, copy_binary     the data of COPY FROM
jsonb                 the canonical text of jsonb
columns               what the others share: fast for most values of a column, careful with the rest
"""
