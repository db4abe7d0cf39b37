import hashlib

import numpy as np
from playmolt_agora.measures.inference.streams import stream


def test_a_stream_follows_from_seed_measure_and_cell():
    seed = int(hashlib.blake2b(b"s|pcs|E|ko", digest_size=8).hexdigest(), 16)
    expected = np.random.Generator(np.random.PCG64(seed)).integers(0, 1000, 9)
    assert stream("s", "pcs", "E", "ko").integers(0, 1000, 9).tolist() == expected.tolist()


def test_cells_have_streams_of_their_own():
    assert stream("s", "pcs", "E", "ko").random() != stream("s", "pcs", "E", "en").random()
    assert stream("s", "pcs").random() != stream("t", "pcs").random()
