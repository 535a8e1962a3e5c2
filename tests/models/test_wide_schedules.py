"""The schedules of AVX-512 on a machine with AVX2: wider panels and tiles, the same bits.

What AVX-512 and AVX2 code do differently above the instruction set is the shape of a product's tile and panels. A
target that has the name, and so the schedules, of AVX-512 and the instructions of AVX2 runs on both kinds of machine.
LLVM splits its wide vectors; operations and their order are those of the AVX-512 code.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pelton.codegen.cpu.target import AVX2, AVX512
from pelton.compiler import Compilation
from pelton.examples.minilm import sentence_encoder
from pelton.kernels.tiles import TILE
from pelton.runtime.executable import NativeExecutable
from pelton.runtime.loader import host_features
from pelton.runtime.model import Model
from pelton.runtime.weights import bind_weights
from pelton.tests.models.minilm_reference import random_weights
from pelton.tests.models.test_minilm import SMALL
from pelton.tests.ops.test_every_op import Nowhere

pytestmark = pytest.mark.skipif(not AVX2.required <= host_features(), reason="this machine has no AVX2")
WIDE = replace(AVX2, name=AVX512.name)


def test_a_model_on_wide_and_narrow_tiles_gives_the_same_bits() -> None:
    assert TILE[AVX512.name]["f32"] != TILE[AVX2.name]["f32"]
    graph, weights, results = sentence_encoder(SMALL), random_weights(SMALL), list[Any]()
    ids = np.random.default_rng(1).integers(0, SMALL.vocabulary, (3, 37))
    mask = (np.arange(37) < np.array([[37], [1], [20]])).astype(np.int64)
    for target in (AVX2, WIDE):
        artifact = Compilation(graph.module.clone(), target, Nowhere(), graph.constants).run().artifact
        model = Model(NativeExecutable(artifact, bind_weights(artifact.weights, weights)))
        results.append(model.execute(ids, mask)[0].to_numpy())
    np.testing.assert_array_equal(results[0].view(np.uint32), results[1].view(np.uint32))
