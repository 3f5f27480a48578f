"""`python -m headwater` is `headwater`."""

from __future__ import annotations

from headwater.cli import main

if __name__ == "__main__":
    main(prog_name="headwater")
