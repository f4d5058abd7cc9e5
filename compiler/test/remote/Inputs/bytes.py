# Fails unless a program has fetched at most half as many bytes, by the statistics of its runs, as the first one.
import json
import sys


def fetched(path):
    with open(path) as file:
        return json.load(file)["counters"]["section_fetched_bytes"]


most, *others = map(fetched, sys.argv[1:])
print(most, *others)
sys.exit(any(other > most / 2 for other in others))
