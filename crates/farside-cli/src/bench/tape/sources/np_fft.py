# The discrete Fourier transform of N complex numbers with numpy.
import gc
import sys
import zlib

import numpy

gc.disable()
n = int(sys.argv[1])
signal = numpy.random.default_rng(7).random(2 * n).view(numpy.complex128)
print("np_fft", format(zlib.crc32(numpy.fft.fft(signal)), "08x"))
