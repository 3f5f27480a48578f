"""The house rules, as a test: one pass over the tree, one test per rule.

Method: every file is read and parsed once (tests/support/tree.py); each rule lists what offends it, so
that a failure names files and lines, not opinions.  Exceptions stand in the tables
at the top, each with its reason.  Reasons for the rules are in docs/style.md.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

from headwater.observe.failpoints import FAILPOINTS
from tests.support.tree import (
    ROOT,
    allowed,
    everything,
    expect_none,
    imports,
    modules,
    product,
    texts,
)

MODULE_LINES_MAX = 600
FUNCTION_LINES_MAX = 60

# Package or module -> the files or folders that may import it.
IMPORT_HOMES: dict[str, tuple[str, ...]] = {
    "pyspark": ("headwater/cluster/",),
    "py4j": ("headwater/cluster/",),
    "sqlite3": (
        "headwater/catalog/sqlite_store.py",
        "headwater/metadata/",
        "headwater/persist/sqlite_file.py",
        "headwater/persist/sqlite_ledger.py",
    ),
    # How the stores are kept: others know what they promise, and are given one.
    "headwater.metadata": (
        "headwater/metadata/",
        "headwater/catalog/opening.py",
        "headwater/catalog/sqlite_store.py",
        "headwater/persist/opening.py",
        "headwater/persist/sqlite_file.py",
    ),
    "headwater.catalog.sqlite_store": ("headwater/catalog/opening.py",),
    "headwater.persist.local": ("headwater/persist/opening.py",),
    "headwater.persist.sqlite_ledger": ("headwater/persist/opening.py",),
    "headwater.persist.sqlite_file": ("headwater/persist/sqlite_ledger.py",),
    "headwater.persist.sqlite_tables": ("headwater/persist/sqlite_ledger.py",),
    "confluent_kafka": ("headwater/sources/kafka/", "headwater/demo_kafka.py"),
    "deltalake": ("headwater/persist/state.py",),
    "ptars": ("headwater/decode/",),
    "pymysql": ("headwater/sources/mysql/",),
    "time": ("headwater/core/clock.py",),
    "random": ("headwater/core/clock.py",),
    "asyncio": (
        "headwater/pgwire/server.py",
        "headwater/http/",
        "headwater/coordinator/",
        "headwater/storage/",
        "headwater/server.py",
    ),
}

# Where everything may be caught, and why.  Elsewhere only to clean up and raise again.
CATCH_ALL_HOMES: dict[str, str] = {
    "headwater/pgwire/server.py": "the session's edge: a bug becomes XX000 with a reference number",
    "headwater/pgwire/session.py": "the session loop, the same",
    "headwater/cluster/ingestion.py": "the ingestion loop: a bug stalls one source, not the cluster",
    "headwater/cluster/server.py": "a connection's loop: a bug is logged, and all is stated again",
    "headwater/cluster/backfill.py": "a backfill's loop: a bug stops the tables of one batch, and is shown",
    "headwater/cluster/maintenance.py": "the loop of folds and drops: other tables need it as well",
    "headwater/http/statements.py": "statements by HTTP: a bug becomes XX000 with a reference number",
    "headwater/coordinator/webhooks.py": "requests for one webhook: a bug is theirs, not those of others",
    "headwater/coordinator/hubs.py": "a hub's loop: those who wait for it are told",
    "headwater/coordinator/widening.py": "a table that cannot be cut over stays as it was; others are",
    "headwater/storage/loops.py": "loops of the environment begin again, and the log says why",
    "headwater/sources/unforeseen.py": "decoding: a bug is of a message or a table; others go on",
    "headwater/sources/flawed.py": "the same, of values",
    "headwater/sources/mysql/reader.py": "the receiving thread: whatever ends it is told to the next tick",
    "headwater/sources/postgres/reader.py": "the receiving thread: whatever ends it is told to the next tick",
}

# Kinds of types that are told by no other word, and who may name them besides the records of what they are.
_NUMBERS = ("uint2", "uint4", "uint8", "mz_timestamp", "mz_aclitem")
KINDS_OF_TYPES = ("uuid", "interval", "bytea", "jsonb", "int2vector", *_NUMBERS)
KIND_RECORDS = ("headwater/core/types.py", "headwater/formats/kinds/__init__.py")
KIND_HOMES: dict[str, tuple[tuple[str, ...], str]] = {
    "headwater/coordinator/feed.py": (("mz_timestamp",), "the name of a column"),
    "headwater/coordinator/queries.py": (("mz_timestamp",), "a query of ours has it"),
    **{
        f"headwater/decode/avro_{part}.py": (("uuid",), "a type of Avro")
        for part in ("schema", "types", "values")
    },
    "headwater/formats/engine_types.py": (("interval",), "a stored form of that name"),
    "headwater/formats/json_values.py": (("jsonb",), "which texts are JSON already"),
    "headwater/formats/text_numbers.py": (
        ("uint2", "uint4", "uint8", "mz_timestamp"),
        "how numbers are read, and which are none",
    ),
    "headwater/sources/load_generator/datums.py": (
        ("uuid", "interval", "bytea", "jsonb", "uint2", "uint4", "uint8", "mz_timestamp"),
        "a column of every kind, named after it",
    ),
    "headwater/sources/postgres/snapshot.py": (("bytea",), "what its driver gives in our form"),
    "headwater/sql/select/bind/types_by_name.py": (("interval",), "a word of the grammar"),
    "headwater/sql/select/functions/casts.py": (
        ("interval", "bytea", "jsonb", "uint2", "uint4", "uint8", "mz_timestamp"),
        "which casts there are between which kinds",
    ),
    "headwater/sql/select/functions/json.py": (("jsonb",), "functions of documents"),
    "headwater/sql/select/functions/time.py": (("interval",), "a function of that name"),
    "headwater/sql/select/generate/": (("interval",), "a stored form of that name"),
    "headwater/sql/select/kernels/": (("interval", "bytea"), "what kernels take and give"),
    "headwater/sql/select/kernels/documents.py": (("jsonb",), "documents are what it is about"),
    "headwater/sql/select/kernels/errors.py": (
        ("uint2", "uint4", "uint8"),
        "what DuckDB's errors call them, and we",
    ),
    "headwater/sql/select/parse/": (("interval",), "a word of the grammar"),
    "headwater/sql/type_names.py": (("interval",), "a word of the grammar"),
}

# Folders whose modules never import each other, but for those that are there for all; what two need moves up.
OF_LOGS = ("spooled", "stretches", "unshown", "unforeseen", "flawed", "patience")
APART: dict[str, tuple[str, ...]] = {
    "headwater/sql/statements": (),
    "headwater/coordinator/sequence": (),
    "headwater/sources": ("contract", "dialect", "connections", "external", "column_options", *OF_LOGS),
}
COLLECTORS = {"__init__", "dialects"}

# Who makes paths below the data directory; all others are given them.
PATH_HOMES = ("headwater/persist/", "headwater/metadata/")
DATA_DIRECTORY = re.compile(r"(?:^|[._(])data_dir\)?$")
DATA_FILES = re.compile(r"\.(?:parquet|arrow|sqlite)$|\b(?:tables|secrets|scratch)/|_delta_log|\bscratch$")

BANNED_CLASS_SUFFIXES = ("Manager", "Handler", "Helper", "Processor", "Context", "Util", "Utils")
BANNED_MODULES = {"util", "utils", "helper", "helpers", "common", "misc", "manager", "handler"}
BANNED_IN_NAMES = ("changefeed",)
# Put together here so that this file does not offend its own rule.
LEFT_UNDONE = re.compile(r"\b(?:" + "|".join(["TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK"]) + r")\b")

FOREIGN_PATHS = re.compile(r"(?<![\w./~-])/(?:root|home/[a-z]\w*|Users/[A-Za-z]\w*)/")
REGISTRY = re.compile(
    r"https?://\S+/simple\b|pythonhosted\.|\bpypi\.(?:org|python)|--(?:extra-)?index-url\s*=?\s*http"
)

DATA_TESTS = {".slt": "tests/text", ".td": "tests/text", ".pt": "tests/wire"}
DECISION_SECTIONS = ("Problem", "What must be true", "Decision", "Rejected", "What would change our mind")


def test_the_tree_was_found() -> None:
    assert "headwater/core/limits.py" in texts()
    assert len(product()) > 20


def test_no_module_is_too_long() -> None:
    counts = {module.path: module.text.count("\n") for module in everything()}
    expect_none(f"{path}: {count} lines" for path, count in counts.items() if count > MODULE_LINES_MAX)


def test_no_function_is_too_long() -> None:
    offending = [
        f"{module.at(node)} {node.name}: {length} lines"
        for module in everything()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES_MAX
    ]
    expect_none(offending)


def test_every_module_says_what_it_is() -> None:
    offending = [
        module.path
        for module in everything()
        if not ast.get_docstring(module.tree)
        # Folders of tests are packages only so that names may repeat.
        and not (module.path.startswith("tests/") and module.path.endswith("__init__.py"))
    ]
    expect_none(offending)


def test_every_folder_with_code_is_a_package() -> None:
    folders = {Path(module.path).parent for module in everything()}
    known = texts()
    missing = [folder.as_posix() for folder in folders if (folder / "__init__.py").as_posix() not in known]
    expect_none(missing)


def test_packages_are_imported_only_in_their_homes() -> None:
    offending = [
        f"{module.at(node)} imports {name}"
        for module in product()
        for node, name in imports(module)
        for package, homes in IMPORT_HOMES.items()
        if f"{name}.".startswith(f"{package}.") and not allowed(module.path, homes)
    ]
    expect_none(offending)


def test_tests_know_in_one_place_how_metadata_is_kept() -> None:
    homes = (
        "tests/support/metadata.py",
        "tests/unit/metadata/",
        "tests/unit/catalog/test_sqlite_store.py",
        "tests/unit/persist/test_sqlite_ledger.py",
    )
    kept = re.compile(r"sqlite3|headwater\.(?:catalog|persist)\.sqlite_\w+")
    offending = [
        f"{module.at(node)} imports {name}"
        for module in modules("tests/")
        for node, name in imports(module)
        if kept.match(name) and not allowed(module.path, homes)
    ]
    expect_none(offending)


def test_core_imports_only_the_standard_library_and_itself() -> None:
    offending = [
        f"{module.at(node)} imports {name}"
        for module in modules("headwater/core/")
        for node, name in imports(module)
        if not name.startswith("headwater.core") and name.split(".")[0] not in sys.stdlib_module_names
    ]
    expect_none(offending)


def test_the_clock_is_read_and_the_terminal_written_only_by_their_owners() -> None:
    offending = []
    for module in product():
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            if called == "print" or re.search(r"\b(datetime|date)\.(now|utcnow|today)$", called):
                offending.append(f"{module.at(node)} calls {called}")
    expect_none(offending)


def test_nobody_goes_on_in_python_after_a_fork() -> None:
    """A lock that another thread held is held for ever there; subprocess without preexec_fn is safe."""
    offending = []
    for module in product():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call) and (
                re.search(r"\b(create_subprocess_\w+|fork|Process)$", ast.unparse(node.func))
                or any(keyword.arg == "preexec_fn" for keyword in node.keywords)
            ):
                offending.append(f"{module.at(node)} calls {ast.unparse(node.func)}")
    expect_none(offending)


def test_nothing_is_left_undone() -> None:
    offending = [
        f"{path}:{number}"
        for path, text in texts().items()
        if path.endswith((".py", ".sh", ".md", "Makefile"))
        for number, line in enumerate(text.splitlines(), 1)
        if LEFT_UNDONE.search(line)
    ]
    offending += [
        module.at(node)
        for module in product()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Name) and node.id == "NotImplementedError"
    ]
    expect_none(offending)


def test_names_are_words_of_the_glossary() -> None:
    offending = []
    for module in everything():
        if Path(module.path).stem.lower() in BANNED_MODULES:
            offending.append(f"{module.path} is named after nothing")
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef) and node.name.endswith(BANNED_CLASS_SUFFIXES):
                offending.append(f"{module.at(node)} class {node.name}")
            name = getattr(node, "name", None) or getattr(node, "id", None) or getattr(node, "arg", None)
            if isinstance(name, str) and any(word in name.lower() for word in BANNED_IN_NAMES):
                offending.append(f"{module.at(node)} {name}")
    expect_none(offending)


def test_everything_is_caught_only_where_the_process_must_go_on() -> None:
    offending = []
    for module in product():
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.ExceptHandler) or module.path in CATCH_ALL_HOMES:
                continue
            caught = ast.unparse(node.type) if node.type else "everything"
            last = node.body[-1]
            raised_again = isinstance(last, ast.Raise) and last.exc is None
            if re.search(r"\b(Exception|BaseException|everything)\b", caught) and not raised_again:
                offending.append(f"{module.at(node)} catches {caught}")
    expect_none(offending)


def test_neighbours_that_are_to_stay_apart_do() -> None:
    offending = []
    for folder, shared in APART.items():
        package = folder.replace("/", ".")
        # A neighbour is a module, or a folder with all that is in it.
        for module in modules(f"{folder}/"):
            own = Path(module.path).relative_to(folder).parts[0].removesuffix(".py")
            if own in COLLECTORS:
                continue
            for node, name in imports(module):
                if not name.startswith(f"{package}."):
                    continue
                other = name.removeprefix(f"{package}.").split(".")[0]
                if other not in (own, *shared) and _exists(folder, other):
                    offending.append(f"{module.at(node)} imports {name}")
    expect_none(offending)


def test_what_tests_share_is_in_no_test() -> None:
    """Files of tests do not import each other; folders share what is in tests/support and tests/kinds."""
    offending = []
    for module in modules("tests/"):
        own = Path(module.path).parts[1]
        for node, name in imports(module):
            parts = name.split(".")
            if parts[0] != "tests" or len(parts) < 2:
                continue
            if any(part.startswith("test_") for part in parts) or parts[1] not in (own, "support", "kinds"):
                offending.append(f"{module.at(node)} imports {name}")
    expect_none(offending)


MENTIONED = re.compile(r"(?<![\w/.*<])((?:[\w-]+/)*[a-z][\w-]*\.(?:py|md|sh|td))\b")


def test_files_that_docstrings_and_comments_name_are_there() -> None:
    offending = []
    for module in everything():
        said = [line for line in module.text.splitlines() if line.strip().startswith("#")]
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                said.append(ast.get_docstring(node) or "")
        for name in MENTIONED.findall("\n".join(said)):
            if not any(path == name or path.endswith(f"/{name}") for path in texts()):
                offending.append(f"{module.path} names {name}")
    expect_none(offending)


def test_paths_below_the_data_directory_are_made_by_those_who_own_them() -> None:
    offending = []
    for module in product():
        if allowed(module.path, PATH_HOMES):
            continue
        said = {id(node.value) for node in ast.walk(module.tree) if isinstance(node, ast.Expr)}  # docstrings
        for node in ast.walk(module.tree):
            if _joins_to_the_data_directory(node):
                offending.append(f"{module.at(node)} builds {ast.unparse(node)}")
            elif (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and id(node) not in said
                and DATA_FILES.search(node.value)
                and " " not in node.value
            ):
                offending.append(f"{module.at(node)} names {node.value!r}")
    expect_none(offending)


def _joins_to_the_data_directory(node: ast.AST) -> bool:
    """By `data_dir / ...`, `data_dir.joinpath(...)`, `os.path.join(data_dir, ...)` or f"{data_dir}/..."."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.Add):
        first: ast.AST | None = node.left
    elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith((".join", "Path")):
        first = node.args[0] if len(node.args) > 1 else None
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        walks = {"joinpath", "glob", "rglob", "iterdir", "with_name"}
        first = node.func.value if node.func.attr in walks else None
    elif isinstance(node, ast.JoinedStr) and len(node.values) > 1:
        begins, follows = node.values[:2]
        slash = isinstance(follows, ast.Constant) and str(follows.value).startswith("/")
        first = begins.value if isinstance(begins, ast.FormattedValue) and slash else None
    else:
        first = None
    return first is not None and bool(DATA_DIRECTORY.search(ast.unparse(first)))


@pytest.mark.parametrize(
    ("text", "offends"),
    [
        ("options.data_dir / name", True),
        ("Path(self.data_dir) / name", True),
        ("str(data_dir) + name", True),
        ("os.path.join(world.data_dir, name)", True),
        ("data_dir.glob('*')", True),
        ("f'{data_dir}/{name}'", True),
        ("f'{data_dir}: {trouble}'", False),
        ("scratch / name", False),
        ("data_dir.resolve()", False),
        ("cluster_lock(data_dir, name)", False),
    ],
)
def test_joining_something_to_the_data_directory_is_noticed(text: str, offends: bool) -> None:
    assert any(map(_joins_to_the_data_directory, ast.walk(ast.parse(text)))) == offends


def test_quotes_are_doubled_in_one_place() -> None:
    doubled = re.compile(r"""replace\((?:'"', '""'|"'", "''"|['"]`['"], ['"]``['"])\)""")
    offending = [
        f"{module.path} quotes for itself"
        for module in product()
        if doubled.search(module.text) and module.path != "headwater/core/quoting.py"
    ]
    expect_none(offending)


def test_nobody_compares_the_name_of_a_kind_of_source() -> None:
    """What a kind knows it says itself; the parser refuses by name what there is not."""
    kinds = {"postgres", "load-generator", "kafka", "mysql"}
    allowed = {
        ("headwater/cli.py", "kafka"),  # which demo
        ("headwater/coordinator/variables.py", "postgres"),  # a style of intervals
        ("headwater/sql/statements/create_connection.py", "mysql"),
    }
    offending = []
    for module in modules("headwater/"):
        if module.path.startswith("headwater/sources/"):
            continue
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                word = node.value.lower().replace(" ", "-")
                if word in kinds and (module.path, word) not in allowed:
                    offending.append(f"{module.at(node)} has {node.value!r}")
    expect_none(offending)


def test_a_kind_of_types_is_named_where_it_is_said_what_it_is() -> None:
    """Elsewhere ask the records: a new kind has no other files to go into."""
    named = [
        (module, node, str(node.value))
        for module in product()
        if module.path not in KIND_RECORDS
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Constant) and node.value in KINDS_OF_TYPES
    ]
    allowances = [(home, word) for home, (words, _) in KIND_HOMES.items() for word in words]
    expect_none(
        f"{module.at(node)} names {word}"
        for module, node, word in named
        if not any(word == other and allowed(module.path, (home,)) for home, other in allowances)
    )
    expect_none(
        f"{home} does not name {word} any more"
        for home, word in allowances
        if not any(word == other and allowed(module.path, (home,)) for module, _, other in named)
    )


def _exists(folder: str, name: str) -> bool:
    return f"{folder}/{name}.py" in texts() or f"{folder}/{name}/__init__.py" in texts()


def test_every_statement_has_a_page_for_users() -> None:
    pages = {path.replace("_", "-") for path in texts() if path.startswith("docs/user/sql/")}
    missing = []
    for module in modules("headwater/sql/statements/"):
        page = f"docs/user/sql/{Path(module.path).stem.replace('_', '-')}.md"
        if not module.path.endswith("__init__.py") and page not in pages:
            missing.append(f"{module.path} wants {page}")
    expect_none(missing)


def test_every_test_is_reached_by_make() -> None:
    makefile = texts()["Makefile"]
    assert re.search(r"^test:.*\n\t@\$\(MAKE\).* check .*\n\t@scripts/test.sh$", makefile, re.MULTILINE)
    # What the second row leaves out the others run, and `make check` the rest.
    alone, first, *others = re.findall(r'^    "(tests.*)"$', texts()["scripts/test.sh"], re.MULTILINE)
    assert first.split()[0] == "tests"
    reached = [path for row in (*others, alone) for path in row.split()]
    assert re.findall(r"--ignore (\S+)", first) == [*reached, "tests/test_tidy.py"]
    homes = (
        ("tests/", "test_*.py"),
        ("tests/bench/", "bench_*.py"),
        ("tests/chaos/", "soak_*.py"),
        ("tests/postgres/", "chaos_*.py"),
        ("tests/kafka/", "chaos_*.py"),
        ("tests/mysql/", "chaos_*.py"),
    )
    assert re.search(r"python_files='soak_\*\.py' tests/chaos", makefile)
    assert re.search(r"python_files='chaos_\*\.py' tests/postgres", makefile)
    assert re.search(r"python_files='chaos_\*\.py' tests/kafka", makefile)
    assert re.search(r"python_files='chaos_\*\.py' tests/mysql", makefile)
    expect_none([path for path in texts() if "/bench_" in path and f"\t$(LONG) {path}\n" not in makefile])
    offending = [
        module.path
        for module in modules("tests/")
        if any(
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
            for node in module.tree.body
        )
        and not any(module.path.startswith(f) and Path(module.path).match(p) for f, p in homes)
    ]
    expect_none(offending)


def test_every_file_of_statements_is_read_by_a_test() -> None:
    offending = []
    for path in texts():
        home = DATA_TESTS.get(Path(path).suffix)
        if not path.startswith("tests/") or home is None:
            continue
        readers = [module for module in modules(f"{home}/") if f"*{Path(path).suffix}" in module.text]
        if not path.startswith(f"{home}/") or not readers:
            offending.append(path)
    expect_none(offending)


def test_every_limit_limits_something() -> None:
    limits = next(module for module in product() if module.path == "headwater/core/limits.py")
    names = {
        target.id
        for node in limits.tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    others = "\n".join(module.text for module in product() if module is not limits)
    expect_none(f"{name} is not used" for name in names if not re.search(rf"\b{name}\b", others))


def test_every_failpoint_is_declared_and_passed() -> None:
    passed = {
        (module.at(node), node.args[0].value)
        for module in product()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).split(".")[-1] == "failpoint"
        and isinstance(node.args[0], ast.Constant)
    }
    expect_none(f"{place} is not declared" for place, name in passed if name not in FAILPOINTS)
    expect_none(f"{name} is passed nowhere" for name in set(FAILPOINTS) - {name for _, name in passed})


def test_the_lock_has_every_dependency_and_names_no_host() -> None:
    project = tomllib.loads(texts()["pyproject.toml"])
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    lock = texts()["requirements.txt"]
    locked = {match[1].lower() for match in re.finditer(r"^([\w.-]+)(?:\[[\w,-]+\])?==", lock, re.MULTILINE)}
    names = [re.match(r"[\w.-]+", line) for line in wanted]
    expect_none(f"{name[0]} is not locked" for name in names if name and name[0].lower() not in locked)
    assert "://" not in lock
    assert not re.search(r"^--", lock, re.MULTILINE)


def test_no_file_names_a_registry_or_a_place_on_somebody_s_machine() -> None:
    patterns = [FOREIGN_PATHS, REGISTRY]
    local_lock = ROOT / "uv.lock"
    if local_lock.exists():  # not kept; it knows the host that this machine installs from
        hosts = set(re.findall(r'registry = "https?://(?:[^@/"]*@)?([^/:"]+)', local_lock.read_text()))
        patterns += [re.compile(re.escape(host)) for host in hosts]
    if len(ROOT.parts) > 2:
        patterns.append(re.compile(rf"{re.escape(str(ROOT))}\b"))
    offending = [
        f"{path}:{number}"
        for path, text in texts().items()
        if path != "tests/test_tidy.py"
        for number, line in enumerate(text.splitlines(), 1)
        if any(pattern.search(line) for pattern in patterns)
    ]
    expect_none(offending)


def test_every_decision_is_a_numbered_page_of_one_shape() -> None:
    pages = {path: text for path, text in texts().items() if path.startswith("docs/decisions/")}
    numbers = [Path(path).name[:4] for path in pages]
    assert numbers == [f"{number:04}" for number in range(1, len(pages) + 1)]
    offending = [
        f"{path}: {section}"
        for path, text in pages.items()
        for section in DECISION_SECTIONS
        if f"\n## {section}\n" not in text
    ]
    expect_none(offending)


@pytest.mark.parametrize(
    ("line", "offends"),
    [
        ("cd /" + "home/ann/project", True),
        ("see https://mirror.example/" + "simple for packages", True),
        ("ls /usr/lib/postgresql/*/bin", False),
        ("GET /api/livez", False),
    ],
)
def test_the_patterns_of_foreign_places_find_what_they_should(line: str, offends: bool) -> None:
    assert bool(FOREIGN_PATHS.search(line) or REGISTRY.search(line)) == offends
