# Fails unless a program has fetched at least a fifth less, by the statistics of its runs, than the first one.
import json
import sys


def fetched(path):
    with open(path) as file:
        return json.load(file)["counters"]["section_fetched"]


most, *others = map(fetched, sys.argv[1:])
print(most, *others)
sys.exit(any(other > most * 4 / 5 for other in others))
