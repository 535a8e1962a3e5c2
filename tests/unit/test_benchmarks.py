"""How the benchmarks measure and report: paired ratios, verdicts, the history and the published page."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pelton.benchmarks.report import BEGIN, END, PAGE, Figure, Report
from pelton.benchmarks.timing import Measured, Ratio, measure

RATIO = Ratio(0.8, 0.7, 0.9)


def test_twice_the_work_takes_twice_the_time() -> None:
    x = np.ones(20_000)

    def once() -> object:
        return np.exp(x)

    def twice() -> object:
        return once(), once()

    ratio = measure({"once": once, "twice": twice}, seconds=0.2).ratio("twice", "once")
    assert ratio.low <= ratio.median <= ratio.high
    assert 1.5 < ratio.median < 2.7


def test_every_contestant_takes_part_in_every_round() -> None:
    measured = measure({"a": lambda: sum(range(2000)), "b": lambda: None}, seconds=0.0, min_rounds=5)
    assert {name: len(times) for name, times in measured.rounds.items()} == {"a": 5, "b": 5}
    assert measured.seconds("a") > measured.seconds("b") > 0


def test_ratios_are_taken_within_rounds() -> None:
    measured = Measured({"ours": [1.0, 10.0, 100.0], "theirs": [2.0, 20.0, 200.0]})
    assert measured.ratio("ours", "theirs") == Ratio(0.5, 0.5, 0.5)
    assert str(RATIO) == "0.80 (0.70–0.90)"


@pytest.mark.parametrize(("value", "verdict"), [(0.8, "≤ 0.8 met"), (0.81, "≤ 0.8 MISSED")])
def test_a_figure_stands_beside_its_target(value: float, verdict: str) -> None:
    assert Figure("load", value, "CPU s", 0.8).verdict == verdict
    assert verdict in str(Figure("load", value, "CPU s", 0.8))
    assert Figure("load", value, "CPU s").verdict == ""


def test_runs_are_appended(tmp_path: Path) -> None:
    report = Report()
    report.add(Figure("softmax", 1234.5, "CPU µs", ratios={"torch": RATIO}, note="9 GB/s"))
    report.save(tmp_path / "new" / "history.jsonl")
    report.save(tmp_path / "new" / "history.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "new" / "history.jsonl").read_text().splitlines()]
    assert len(lines) == 2
    assert lines[0]["figures"][0]["ratios"] == {"torch": {"median": 0.8, "low": 0.7, "high": 0.9}}
    assert lines[0]["cpu"] and lines[0]["versions"]["numpy"] == np.__version__


def test_publishing_replaces_the_figures_and_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"above\n{BEGIN}\nold\n{END}\nbelow\n")
    report = Report([Figure("softmax", 1234.5, "CPU µs", 1300, {"torch": RATIO})])
    report.publish(page)
    report.publish(page)
    text = page.read_text()
    assert text.startswith(f"above\n{BEGIN}\n") and text.endswith(f"\n{END}\nbelow\n")
    assert text.count("| softmax | 1,234 CPU µs | ≤ 1300 | 0.80 (0.70–0.90) |  |") == 1
    assert "old" not in text


def test_the_page_has_the_marks() -> None:
    assert PAGE.read_text().count(BEGIN) == PAGE.read_text().count(END) == 1
