"""The examples of custom ops do what they say."""

from __future__ import annotations

import re

import pytest

from pelton.examples import custom_activation, custom_op


def test_the_activation_fuses(capsys: pytest.CaptureFixture[str]) -> None:
    custom_activation.main()
    difference, kernels = capsys.readouterr().out.splitlines()
    assert float(difference.rpartition(" ")[2]) < 1e-6
    assert len(kernels.split(",")) == 1
    assert len(custom_activation.kernels(custom_activation.layer(0.0))) == 1


def test_the_op_with_a_kernel_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    custom_op.main()
    shape, difference, states = capsys.readouterr().out.splitlines()
    assert shape == "shape: [3, 100]"
    assert float(difference.rpartition(" ")[2]) < 1e-6
    assert len(re.findall(r"-?\d+\.\d*", states)) == 3
