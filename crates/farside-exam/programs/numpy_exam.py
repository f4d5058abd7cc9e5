"""Matrix product, transform, sort and reductions; prints digests of the raw results."""
import hashlib
import sys

import numpy as np

n = int(sys.argv[1])
rng = np.random.default_rng(11)


def show(name, array):
    print(name, array.shape, hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest())


a = rng.standard_normal((n, n))
b = rng.standard_normal((n, n))
show("product", a @ b)
show("transform", np.fft.fft2(a))
x = rng.standard_normal(6 * n * n)
show("sum", np.cumsum(x))
x.sort()
show("sort", x)
np.save("result.npy", a.T)
show("loaded", np.load("result.npy"))
