"""Ten thousand random calls with wrong arguments: each ends in a documented exception or a right result, none kills.

`python -m pelton.tests.soak wrong_calls` makes more of them.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from pelton.driver import Buffer
from pelton.engine import Model
from pelton.support.errors import AssertionFailed
from pelton.tests.soak import wrong_calls
from pelton.tests.support.process import fresh

TEN_THOUSAND = "from pelton.tests.soak.wrong_calls import wrong_calls\nprint(wrong_calls(10_000))"


def test_ten_thousand_wrong_calls() -> None:
    """In a process of their own, which has to live."""
    found = fresh(TEN_THOUSAND)
    exceptions, results = (int(part.split()[0].replace(",", "")) for part in found.split(", ")[:2])
    assert exceptions + results == 10_000 and exceptions > 4_000 and results > 1_000, found


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> wrong_calls.Calls:
    return wrong_calls.Calls(tmp_path_factory.mktemp("calls"))


def test_an_exception_that_no_docstring_lists_is_noticed(
    calls: wrong_calls.Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    def odd(rng: Random) -> wrong_calls.Call:
        return wrong_calls.Call(Model.execute, lambda: {}["odd"])

    monkeypatch.setattr(calls, "kinds", (odd,))
    assert "KeyError is not documented" in calls.outcome(0).wrong


def test_a_wrong_result_is_noticed(calls: wrong_calls.Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    models = [(model, dtypes, lambda *given: given[0]) for model, dtypes, _ in calls.models[:2]]
    monkeypatch.setattr(calls, "models", models)
    monkeypatch.setattr(calls, "kinds", (calls.execute,))
    assert any("the result is wrong" in calls.outcome(number).wrong for number in range(300))


def test_what_docstrings_list() -> None:
    assert AssertionFailed in wrong_calls.documented(Model.execute)
    assert set(wrong_calls.documented(Buffer.zeros)) == set(wrong_calls.documented(Buffer))
    assert set(wrong_calls.documented(Model.__call__)) >= set(wrong_calls.documented(Model.execute))


def test_one_call_can_be_had_again() -> None:
    assert wrong_calls.call(3) == wrong_calls.call(3)
    assert Path(wrong_calls.__file__).name == "wrong_calls.py"
