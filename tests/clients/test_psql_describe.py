"""Every command of psql that only reads the catalog answers, in each of its forms.

Goal: nobody who looks around with psql meets an error.

Method: the real psql.  The commands are those that `\\?` of psql 15 lists as informational, each bare,
with `+`, with `S`, with both, and with patterns that match nothing and everything.  psql says itself
that it has found nothing of a kind, and of some commands that a form does not exist; an error of the
server is what must not come.
"""

from __future__ import annotations

import pytest

from tests.support.server import HeadwaterServer

COMMANDS = (
    "d da dA dAc dAf dAo dAp db dc dconfig dC dd dD ddp dE dm ds dt dv di des det deu dew df dfa dfn dfp dft"
    " dfw dF dFd dFp dFt dg dl lo_list dL dn do dO dp dP dPi dPt dPn drds dRp dRs dT du dx dX dy l z dtvmsE"
)
FORMS = ("", "S", "+", "S+", " no_such_*", "+ *", "S+ a b")
OTHERS = (
    *(r"\d pg_catalog.pg_class", r"\d+ mz_catalog.mz_tables", r"\dt *.*", r"\z pg_catalog.*", r"\df abs int"),
    *(r"\sf abs", r"\sf+ lower", r"\sf pg_catalog.lower(text)", r"\dAc+ btree int4", r"\dconfig+ *timeout*"),
    *(r"\conninfo", r"\encoding", r"\l+ mat*", r"\do + int int", r"\drds * *", r"\errverbose"),
)


def errors_of(server: HeadwaterServer, commands: list[str]) -> list[str]:
    """What the server said against these, run in one psql that goes on after errors."""
    script = "\\set VERBOSITY verbose\n" + "".join(f"{command}\n" for command in commands)
    done = server.psql("-q", "-f", "-", stdin=script)
    lines = script.splitlines()
    found = []
    for line in done.stderr.splitlines():
        if "ERROR:" in line or "FATAL:" in line:
            number = int(line.split(":")[2])
            found.append(f"{lines[number - 1]}: {line}")
    return found


@pytest.mark.parametrize("form", FORMS)
def test_every_informational_command_answers(server: HeadwaterServer, form: str) -> None:
    assert errors_of(server, [f"\\{command}{form}" for command in COMMANDS.split()]) == []


def test_commands_about_one_object_answer(server: HeadwaterServer) -> None:
    assert errors_of(server, list(OTHERS)) == []


def test_a_function_is_shown_as_it_would_be_made(server: HeadwaterServer) -> None:
    shown = server.psql("-c", r"\sf pg_catalog.lower(text)").stdout
    assert "CREATE OR REPLACE FUNCTION pg_catalog.lower(text)\n RETURNS text" in shown


def test_what_fails_would_be_seen(server: HeadwaterServer) -> None:
    (found,) = errors_of(server, [r"\d", "SELECT nothing;", r"\dt"])
    assert found.startswith("SELECT nothing;: ")
