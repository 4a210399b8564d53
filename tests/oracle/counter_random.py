"""real/rank/random.h, real/data/sampler.h, real/rank/checksum.h and real/data/data.h a second time, in numpy.

Written from the headers' words and not from the C, so that the two check each other: tests/real/test_random.c and
tests/real/test_data.c compare against what this file put into tests/golden/.
"""

import gzip
import math

import numpy as np

WEIGHTS, SHUFFLE, TEXT = 1, 2, 3
M32 = np.uint64(0xFFFFFFFF)


def philox(seed, stream, blocks):
    """Philox4x32-10 of each block index: an array [len(blocks), 4] of 32-bit words, as uint64."""
    blocks = np.asarray(blocks, np.uint64)
    c = [blocks & M32, blocks >> np.uint64(32)]
    c += [np.full_like(blocks, stream & 0xFFFFFFFF), np.full_like(blocks, stream >> 32)]
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        p0 = c[0] * np.uint64(0xD2511F53)
        p1 = c[2] * np.uint64(0xCD9E8D57)
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), p1 & M32,
             (p0 >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), p0 & M32]
        k0 = (k0 + 0x9E3779B9) & 0xFFFFFFFF
        k1 = (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack(c, axis=1)


def stream_of(purpose, which):
    return purpose << 56 | which


def random_u64(seed, stream, index):
    words = philox(seed, stream, [index])[0]
    return int(words[1]) << 32 | int(words[0])


def weights(seed, tensor_index, shape, init, scale):
    """Initial values of a whole tensor."""
    count = math.prod(shape)
    if init in ("zeros", "ones"):
        return np.full(shape, 0.0 if init == "zeros" else 1.0, np.float32)
    words = philox(seed, stream_of(WEIGHTS, tensor_index), np.arange((count + 3) // 4))
    u = (words.astype(np.float64) + 0.5) / 2.0**32
    if init == "uniform":
        values = 2.0 * u - 1.0
    else:
        values = np.empty_like(u)
        for pair in (0, 2):
            r = np.sqrt(-2.0 * np.log(u[:, pair]))
            t = 2.0 * math.pi * u[:, pair + 1]
            values[:, pair] = r * np.cos(t)
            values[:, pair + 1] = r * np.sin(t)
    return (values.reshape(-1)[:count] * scale).astype(np.float32).reshape(shape)


def mix64(x):
    """splitmix64's finalizer, of an array of uint64 (which wraps)."""
    x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return x ^ x >> np.uint64(31)


def checksum(tensors):
    """The checksum of all elements of all tensors, in order: 16 hex digits."""
    values = np.concatenate([np.ascontiguousarray(t, np.float32).reshape(-1) for t in tensors])
    places = np.arange(values.size, dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    return f"{int(np.sum(mix64(mix64(places) ^ values.view(np.uint32).astype(np.uint64)), dtype=np.uint64)):016x}"


def permute(seed, epoch, n, i):
    """The place of element i of n in this epoch's order: a Feistel network of 12 rounds, walked until below n."""
    half = 1
    while 4**half < n:
        half += 1
    mask = 2**half - 1
    keys = [random_u64(seed, stream_of(SHUFFLE, epoch), r) for r in range(12)]
    while True:
        left, right = i >> half, i & mask
        for key in keys:
            mixed = int(mix64(np.array([(right + key) % 2**64], np.uint64))[0])
            left, right = right, left ^ (mixed & mask)
        i = left << half | right
        if i < n:
            return i


class Images:
    """Fashion-MNIST, as Debian's package dataset-fashion-mnist has it."""

    def __init__(self, folder="/usr/share/datasets/fashion-mnist"):
        def read(name, header):
            with gzip.open(f"{folder}/{name}-ubyte.gz") as f:
                return np.frombuffer(f.read(), np.uint8, offset=header)

        self.pixels, self.labels = read("train-images-idx3", 16).reshape(-1, 784), read("train-labels-idx1", 8)
        self.test_pixels, self.test_labels = read("t10k-images-idx3", 16).reshape(-1, 784), read("t10k-labels-idx1", 8)

    def places(self, seed, first, count):
        n = len(self.pixels)
        return [permute(seed, i // n, n, i % n) for i in range(first, first + count)]

    def batch(self, seed, first, count):
        at = self.places(seed, first, count)
        return self.normalized(self.pixels[at]), self.labels[at].astype(np.int64)

    def validation(self, first, count):
        last = first + count
        return self.normalized(self.test_pixels[first:last]), self.test_labels[first:last].astype(np.int64)

    @staticmethod
    def normalized(pixels):
        return ((pixels.astype(np.float64) / 255.0 - 0.2860) / 0.3530).astype(np.float32)


class Text:
    """Bytes; the last tenth is for validation."""

    def __init__(self, path, tokens):
        with gzip.open(path) if str(path).endswith((".gz", ".dz")) else open(path, "rb") as f:
            self.bytes = f.read()
        text = np.frombuffer(self.bytes, np.uint8)
        self.train = text[:len(text) - len(text) // 10]
        self.tokens = tokens

    def places(self, seed, first, count):
        starts = len(self.train) - self.tokens
        return [random_u64(seed, stream_of(TEXT, 0), i) % starts for i in range(first, first + count)]

    def batch(self, seed, first, count):
        pieces = np.stack([self.train[s:s + self.tokens + 1] for s in self.places(seed, first, count)])
        return pieces[:, :-1].astype(np.int64), pieces[:, 1:].astype(np.int64)
