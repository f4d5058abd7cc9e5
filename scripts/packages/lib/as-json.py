"""Prints the results of packages.sh as JSON: as-json.py RESULTS RATIOS VERSIONS."""

import json
import sys


def rows(path):
    with open(path, encoding="utf-8") as lines:
        return [line.rstrip("\n").split("\t") for line in lines]


def main(results, ratios, versions):
    packages = {name: {"name": name, "version": version, "runs": {}, "compile": {}} for name, version in rows(versions)}
    means = {}
    for name, run, *rest in rows(results):
        if run == "skipped":
            packages[name] = {"name": name, "skipped": rest[0]}
        else:
            status, passed, failed = rest
            good = {"built": status != "build", "ended_well": status == "0"}
            packages[name]["runs"][run] = good | {"passed": int(passed), "failed": int(failed)}
    for name, build, amount, ratio in rows(ratios):
        if name:
            packages[name]["compile"][build] = {"seconds": float(amount), "ratio": float(ratio)}
        else:
            means[build] = float(ratio)
    json.dump({"packages": list(packages.values()), "geometric_mean": means}, sys.stdout, indent=2)
    print()


main(*sys.argv[1:])
