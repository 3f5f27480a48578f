"""From a plan to the SQL of an engine; both have the same modules.

    query        nodes: begin reading here
    expressions  what has a value
    aggregates   aggregates and window functions
    literals     constants and names
    errors       what the engine's errors mean to the user

arrays.py, branches.py and matching.py are for both.

Not here: how a function is spelled (functions/), running the text (coordinator/, cluster/).
"""
