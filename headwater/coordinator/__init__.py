"""The coordinator: sessions, timestamps, and what statements do.

api          what it offers to pgwire and http
coordinator  the composition: catalog, ledger, controller, engine, sessions
session      one client's state: settings, transaction, prepared statements, cursors
sequence/    one file per kind of statement with effects
timestamps   the oracle and the choice of a read's timestamp; what holds history
read         a planned query -> files at a timestamp -> an engine -> batches
engine       DuckDB in this process
tables       writes to plain tables
subscribe    hubs: each change is computed once and shared by all subscribers
"""
