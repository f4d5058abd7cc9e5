#!/usr/bin/env python3
"""Section files with something wrong, made by chance: chance.py DIRECTORY [--seed S] [--count N]. Each is taken, or refused with
a line that says where; nothing else happens."""
import argparse
import os
import random
import re
import subprocess
import sys

WHOLE = """\
threads = true
offload = ["total", "count"]
tuned = [{ local = "1G", misses = 1000 }]

[section.nodes]
capacity = "64M"
capacities = [{ local = "1G", capacity = "600M" }, { local = 4096, capacity = 65536 }]
line = 128
structure = 2
ahead = 4
batch = 3
sites = [{ file = "graph.c", function = "make", line = 12, column = 3 }, { function = "other" }]

[section.edges]
capacity = 65536
line = "4K"
structure = "direct"
fields = true
keep = true
sites = [{ file = "graph.c", line = 13 }]
"""

VALUES = ["0", "-1", "1", "64", "127", "4096", "2097153", "9223372036854775807", "99999999999999999999", "1e9", "nan", "inf",
          '""', '"64"', '"64M"', '"99999999999T"', '"M"', '"\\u0000"', "'x'", "true", "[]", "{}", "[[]]", "[{}]", "1979-05-27",
          '"direct"', '"full"', '"' + "x" * 300 + '"', "0x7fffffffffffffff"]
WORDS = ["threads", "offload", "tuned", "section", "nodes", "capacity", "capacities", "local", "line", "structure", "ahead",
         "batch", "keep", "fields", "own", "copies", "sites", "file", "function", "column", "misses", "x"]


def change(text, draw):
    """One change: of a value, a word, a line, or bytes."""
    kind = draw.randrange(6)
    lines = text.split("\n")
    at = draw.randrange(len(lines))
    if kind == 0:
        found = list(re.finditer(r'"[^"]*"|\b\d+\b|true', text))
        if found:
            one = draw.choice(found)
            return text[: one.start()] + draw.choice(VALUES) + text[one.end() :]
    elif kind == 1:
        found = list(re.finditer(r"[a-z]+", text))
        one = draw.choice(found)
        return text[: one.start()] + draw.choice(WORDS) + text[one.end() :]
    elif kind == 2:
        del lines[at]
    elif kind == 3:
        lines.insert(draw.randrange(len(lines)), lines[at])
    elif kind == 4:
        begin = draw.randrange(len(text))
        return text[:begin] + text[begin + draw.randrange(1, 9) :]
    else:
        begin = draw.randrange(len(text))
        return text[:begin] + "".join(chr(draw.randrange(1, 256)) for _ in range(draw.randrange(1, 5))) + text[begin:]
    return "\n".join(lines)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("directory")
    options.add_argument("--seed", type=int, default=None)
    options.add_argument("--count", type=int, default=150)
    options = options.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    os.makedirs(options.directory, exist_ok=True)
    file = os.path.join(options.directory, "made.toml")
    source = os.path.join(options.directory, "graph.c")
    open(source, "w").write("int main(void) { return 0; }\n")
    refused = 0
    for number in range(options.count):
        draw = random.Random(seed + number)
        text = WHOLE
        for _ in range(draw.randrange(1, 5)):
            text = change(text, draw) or "x"
        with open(file, "wb") as into:
            into.write(text.encode("utf-8" if draw.randrange(2) else "latin-1"))
        command = ["farside-cc", "-fsyntax-only", f"-fsections={file}", source]
        ran = subprocess.run(command, capture_output=True, timeout=60)
        said = ran.stderr.decode(errors="replace")
        first = said.split("\n")[0]
        is_refusal = ran.returncode == 1 and re.match(re.escape(file) + r"(:\d+(:\d+)?)?: error: .", first)
        if ran.returncode != 0 and not is_refusal:
            print(f"seed {seed + number}: exit code {ran.returncode}\n{said}\n--- {file}\n{text}")
            return 1
        refused += ran.returncode
    print(f"{options.count} section files from seed {seed} on: {refused} refused")
    # What is changed is mostly wrong; a reader that takes everything would find nothing so.
    return 0 if refused * 4 > options.count else 1


sys.exit(main())
