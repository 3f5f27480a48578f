"""Values between their forms: text, COPY data and JSON on one side, typed Arrow columns on the other.

engine_types, arrow   what Arrow, DuckDB and Spark call SQL types
kinds                 the text and the binary form of every scalar type: one record each
text, text_*          PostgreSQL's text form of every type, both ways, column-wise
binary, binary_*      PostgreSQL's binary form: columns out, single values in
copy, copy_binary     the data of COPY FROM
jsonb                 the canonical text of jsonb
columns, byte_columns what the others share: fast for most values of a column, careful with the rest
jsonb_columns         the same as jsonb for most documents of a column at once
spans                 texts of a column as one array of bytes
"""
