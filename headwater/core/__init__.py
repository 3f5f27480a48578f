"""The vocabulary of Headwater: ids, time, types, changes, errors, limits.

Everything else in the package speaks in these words.  Modules in here import
the standard library and each other, nothing third-party and nothing of ours:
they are values and pure functions, so they can be read and tested alone.

    ids        u1, s1: names of things that never change
    time       timestamps (milliseconds) and how they are printed
    frontier   how far a source has been read
    types      SQL types, their wire facts and their stored forms
    relation   columns, keys: the shape of a collection
    change     change files, snapshot files and how a table is read at a timestamp
    flaws      values of a row that could not be stored
    errors     four classes, by who must act
    protocol   what the environment and a cluster say to each other
    limits     every bound in the product, with its unit
"""
