"""System relations: what the server says about itself, in tables.

    facts.py      what there is to know        (made by the coordinator, one per query)
    table.py      what a system relation is
    registry.py   all of them, by id, name and oid
    evaluate.py   relation + facts -> Arrow table, with what has not changed kept
    objects.py roles.py types.py values.py     what several relations need

    mz_catalog/ mz_internal/ pg_catalog/ information_schema/      one relation per file

They are computed in Python from the state in memory, column-wise, and handed to the
engine that reads them: no relation is defined by SQL, so none depends on the planner.
"""
