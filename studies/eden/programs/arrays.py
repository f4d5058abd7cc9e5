"""Arrays: products, a transform, a sort, and reductions."""

import sys

import numpy as np

n = int(sys.argv[1])
rng = np.random.default_rng(7)
a = rng.integers(0, 1000, (n, n)).astype(np.float64)
b = rng.integers(0, 1000, (n, n)).astype(np.float64)
c = a @ b + a.T
order = np.argsort(c.ravel(), kind="stable")
spectrum = np.fft.rfft(c.ravel()[order])
groups = np.bincount((c.ravel() % 1024).astype(np.int64), minlength=1024)
print(int(c.sum()), int(order[:: n].sum()), len(spectrum), int(groups.max()))
