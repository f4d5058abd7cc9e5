# Fails unless the second of two runs has fetched so many lines less than the first, by their statistics.
import json
import sys


def fetched(path):
    with open(path) as file:
        return json.load(file)["counters"]["section_fetched"]


first, second = map(fetched, sys.argv[1:3])
print(first, second)
sys.exit(first - second < int(sys.argv[3]))
