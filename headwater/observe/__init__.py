"""What the product says of itself to those who run it.

    log          diagnostics on stderr: one line, one event, facts as key=value
    metrics      numbers for a collector, all declared in one place
    failpoints   places where a test may make the process fail

Imported by every layer above; imports core and options only.
"""
