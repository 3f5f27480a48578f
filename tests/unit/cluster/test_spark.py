"""The archive of Java's classes: one that was cut short is not used, because Java would die of it."""

from __future__ import annotations

from pathlib import Path

from headwater.cluster.spark import archive_name, find_archive


def test_an_archive_is_used_if_it_is_as_long_as_it_was(tmp_path: Path) -> None:
    assert find_archive(tmp_path) is None
    archive = tmp_path / archive_name(1_000)
    archive.write_bytes(bytes(1_000))
    assert find_archive(tmp_path) == archive
    archive.write_bytes(bytes(999))
    assert find_archive(tmp_path) is None


def test_an_archive_of_another_version_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "spark-1.0.0-3.jsa").write_bytes(bytes(3))
    assert find_archive(tmp_path) is None
