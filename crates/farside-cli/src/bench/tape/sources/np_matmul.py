# The product of two square matrices of order N with numpy.
import gc
import sys
import zlib

import numpy

gc.disable()
n = int(sys.argv[1])
random = numpy.random.default_rng(7)
a, b = random.random((n, n)), random.random((n, n))
print("np_matmul", format(zlib.crc32(a @ b), "08x"))
