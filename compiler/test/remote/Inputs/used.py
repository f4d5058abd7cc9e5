# Fails if any of some counters of a run is 0.
import json
import sys

with open(sys.argv[1]) as file:
    counters = json.load(file)["counters"]
print({name: counters[name] for name in sys.argv[2:]})
sys.exit(not all(counters[name] for name in sys.argv[2:]))
