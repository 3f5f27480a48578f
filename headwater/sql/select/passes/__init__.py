"""Rewrites of a bound plan, one a file; each is a function from plan to plan.

prune_columns     nothing is computed or read that nobody uses
count_rows        equal rows become one, with their count
put_arguments     constants in the places of parameters
constant_parts    what can be computed before any row is read
"""
