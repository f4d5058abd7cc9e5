"""Misses and time of policies in libCacheSim: partner.py TRACE PAGES NAME...

The trace is in the format oracleGeneral. Prints a line for each policy: name, nanoseconds, miss ratio.
"""
import sys
import time

import libcachesim

trace, pages = sys.argv[1], int(sys.argv[2])
for name in sys.argv[3:]:
    reader = libcachesim.TraceReader(
        trace=trace,
        trace_type=libcachesim.TraceType.ORACLE_GENERAL_TRACE,
        reader_init_params=libcachesim.ReaderInitParam(ignore_obj_size=True),
    )
    cache = getattr(libcachesim, name)(cache_size=pages)
    begin = time.perf_counter_ns()
    ratio = cache.process_trace(reader)[0]
    print(name, time.perf_counter_ns() - begin, ratio, flush=True)
