"""Saved texts: vmstat and iostat as they are printed, somebody else's text, texts that are cut."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from dbdyno.cli.explain import command
from dbdyno.explain.saved import explain_saved
from dbdyno.hosts import saved
from dbdyno.model.errors import UsageError

# The table of "The write cache: Swap insanity tome III" (Percona, 2017), under a first line of means as vmstat has one.
ARTICLE = """\
Time swpd free cache si so bi bo us sy id wa
10:03:20 291992 224892 7254284 0 0 1 476 8 6 81 5
10:03:22 291992 224892 7254284 0 0 148504 476 8 6 81 5
10:03:24 291992 222228 7258064 0 0 194040 96 7 6 83 5
10:03:26 291992 224088 7260196 0 0 172386 156 8 7 80 5
10:03:28 291992 219104 7262820 0 0 174854 160 6 5 83 6
10:03:30 291992 324640 7153440 0 0 143736 132 7 5 76 12
10:03:32 291984 292988 7183556 0 0 138480 1206 3 5 81 12
10:03:34 291984 216932 7255856 0 0 169072 936 3 7 83 8
10:03:36 300144 242052 7216444 0 4080 53400 53714 2 7 72 18
10:03:38 395888 355136 7197992 0 47872 3350 125712 3 4 70 23
10:03:40 495212 450516 7208188 0 49664 2532 164356 2 3 81 13
"""
VMSTAT = """\
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC
 1  0      0 9876543  12345 7654321    0    0    10    20   30   40  5  6 88  1  0 2026-11-20 23:59:58
 2  1      0 9876000  12345 7654400    0    0   100   200  300  400 50  6 43  1  0 2026-11-20 23:59:59
 3  0      0 9875000  12345 7654500    0    0   100   200  300  400 50  6 13  1 30 2026-11-21 00:00:00
"""
IOSTAT = """\
Linux 6.1.0 (db1) \t11/20/2026 \t_x86_64_\t(2 CPU)

11/20/2026 03:00:00 PM
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           5.00    0.00    2.00    1.00    0.00   92.00

Device   r/s   rkB/s rrqm/s %rrqm r_await rareq-sz   w/s   wkB/s wrqm/s %wrqm w_await wareq-sz aqu-sz  %util
sda 1.00 10.00 0.00 0.00 0.50 10.00 2.00 20.00 0.00 0.00 0.50 10.00 0.00 1.00

11/20/2026 03:00:01 PM
Device   r/s   rkB/s rrqm/s %rrqm r_await rareq-sz   w/s   wkB/s wrqm/s %wrqm w_await wareq-sz aqu-sz  %util
sda 10.00 100.00 0.00 0.00 0.50 10.00 900.00 8000.00 0.00 0.00 40.00 10.00 36.00 99.90

11/20/2026 03:00:02 PM
Device   r/s   rkB/s rrqm/s %rrqm r_await rareq-sz   w/s   wkB/s wrqm/s %wrqm w_await wareq-sz aqu-sz  %util
sda 10.00 100.00 0.00 0.00 0.50 10.00 910.00 8100.00 0.00 0.00 40.00 10.00 36.00 99.80
"""


def write(folder: Path, text: str, name: str = "saved.txt") -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_the_article_s_own_table_is_explained(tmp_path: Path) -> None:
    explanation = explain_saved([write(tmp_path, ARTICLE)])
    first = explanation.findings[0].finding
    assert first.rule == "write-cache-swap"
    assert first.start_s == 14
    assert [fix.name for fix in first.fixes] == ["vm.dirty_bytes", "vm.dirty_background_bytes"]


def test_the_same_table_without_swap_is_healthy(tmp_path: Path) -> None:
    calm = "\n".join(ARTICLE.splitlines()[:9]) + "\n"
    assert explain_saved([write(tmp_path, calm)]).findings == ()


def test_vmstat_columns_units_and_midnight() -> None:
    recording = saved.recording([VMSTAT])
    assert recording.duration_s == 1
    assert recording.series("memory", "free_bytes").first() == 9876000 * 1024
    assert recording.series("vmstat", "paged_out_bytes").last() == 200 * 1024
    assert recording.role("cpu_steal_s").last() == 0.3


def test_iostat_columns_and_a_full_disk(tmp_path: Path) -> None:
    recording = saved.recording([IOSTAT])
    assert recording.keys("disk") == ["sda"]
    assert recording.series("disk", "writes", "sda").first() == 900
    assert recording.series("disk", "write_bytes", "sda").last() == 8100 * 1024
    assert recording.series("disk", "queue_ms", "sda").last() == 36_000
    assert [one.finding.rule for one in explain_saved([write(tmp_path, IOSTAT)]).findings] == ["disk-saturated"]


def test_both_at_once_share_their_time() -> None:
    day = VMSTAT.replace("2026-11-20 23:59:5", "2026-11-20 15:00:0").replace(
        "2026-11-21 00:00:00", "2026-11-20 15:00:10"
    )
    recording = saved.recording([day, IOSTAT])
    assert recording.duration_s == 9
    assert recording.series("disk", "writes").t_s[0] == 0


@pytest.mark.parametrize("text", ["", "hello\n", "\x00\x01\x02", "procs memory\n 1 2 3\n", "<html></html>"])
def test_somebody_else_s_text_is_refused_in_words(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match="nobody knows"):
        explain_saved([write(tmp_path, text)])
    outcome = CliRunner().invoke(command, ["--status", str(write(tmp_path, text))])
    assert isinstance(outcome.exception, UsageError)


def test_a_text_without_time_stamps_is_refused(tmp_path: Path) -> None:
    bare = "\n".join(line[:83] for line in VMSTAT.splitlines()) + "\n"
    with pytest.raises(UsageError, match="no time stamps"):
        explain_saved([write(tmp_path, bare)])


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        explain_saved([tmp_path / "none"])


@pytest.mark.parametrize("text", [ARTICLE, VMSTAT, IOSTAT], ids=["article", "vmstat", "iostat"])
def test_a_text_cut_at_any_byte_is_explained_or_refused(tmp_path: Path, text: str) -> None:
    refused = explained = 0
    for cut in range(0, len(text), 23):
        try:
            explain_saved([write(tmp_path, text[:cut])])
            explained += 1
        except UsageError:
            refused += 1
    assert refused
    assert explained
