"""Schemas of Protobuf that are text, as registries keep them, compiled by protoc.

It comes with grpcio-tools and is run as a process of its own, which nobody can bring down but itself.
What everybody imports without having registered it is there: google/protobuf, google/type and the like,
and Confluent's own.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Final

from google.protobuf import descriptor_pb2

from headwater.core.errors import UserError
from headwater.core.limits import PROTOC_S_MAX

_MAIN: Final = "headwater_schema.proto"
_CONFLUENT: Final = {
    "confluent/meta.proto": """syntax = "proto3";
package confluent;
import "google/protobuf/descriptor.proto";
message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; }
extend google.protobuf.FileOptions { Meta file_meta = 1088; }
extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }
""",
    "confluent/type/decimal.proto": """syntax = "proto3";
package confluent.type;
message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }
""",
}


def descriptor_of(schema_text: str, references: Mapping[str, str]) -> bytes:
    """A FileDescriptorSet: what a schema imports, and itself last; `references`: texts by import path."""
    with TemporaryDirectory(prefix="headwater-") as folder:
        for path, text in {**_CONFLUENT, **references, _MAIN: schema_text}.items():
            _write(Path(folder), path, text)
        compiled = Path(folder, "compiled")
        command = [sys.executable, "-m", "grpc_tools.protoc", "--include_imports"]
        command += [f"--proto_path={place}" for place in (folder, *_known())]
        command += [f"--descriptor_set_out={compiled}", _MAIN]
        try:
            done = subprocess.run(
                command, capture_output=True, timeout=PROTOC_S_MAX, check=False, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired:
            raise UserError("Protobuf schema takes too long to compile", "54000") from None
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").replace(f"{folder}/", "")
            wrong = [
                line.removeprefix(f"{_MAIN}:") for line in said.splitlines() if ": warning: " not in line
            ]
            raise UserError("invalid Protobuf schema", "22023", detail="\n".join(wrong) or None)
        return compiled.read_bytes()


def first_message(descriptor: bytes) -> str:
    """The full name of the first message of a schema; UserError if it has none."""
    file = descriptor_pb2.FileDescriptorSet.FromString(descriptor).file[-1]
    if not file.message_type:
        raise UserError("a schema of Protobuf has no message", "22023")
    name = file.message_type[0].name
    return f"{file.package}.{name}" if file.package else str(name)


def _write(folder: Path, path: str, text: str) -> None:
    parts = PurePosixPath(path).parts
    if not parts or ".." in parts or path.startswith("/") or re.search(r"[\0\\:]", path) is not None:
        raise UserError(f'invalid import path "{path}" of a Protobuf schema', "22023")
    place = folder.joinpath(*parts)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


def _known() -> list[str]:
    """Folders with the schemas that everybody knows."""
    found = []
    for package, below in (("grpc_tools", "_proto"), ("google.type", "../..")):
        spec = find_spec(package)
        places = [] if spec is None else list(spec.submodule_search_locations or [])
        found += [str(Path(place, below).resolve()) for place in places]
    return found
