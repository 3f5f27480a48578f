"""From syntax to a typed plan: what names mean, which casts happen, which function a call is.

    query        whole queries: begin reading here
    select       one SELECT, clause by clause
    expression   everything that has a value
    scope        the names that can be seen

Pure: the catalog is asked through `Names`, the session through `SessionFacts`.
"""
