#!/usr/bin/env python3
"""Makes C and C++ programs by chance, and compares what clang makes of each with what farside-cc makes of it.

A program has a section file. It is compiled by clang at -O2, and by farside-cc at -O0, -O1 and -O2, or at fewer of these
levels in turn, which is run by itself and, where there is a farside, on far memory with sections so small that lines come
and go all the time. All have to print the same and to end the same. A failure says its seed and leaves the program in the
directory; `--seed N` makes it again.
"""

import argparse
import os
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import programs  # noqa: E402

SECTIONS = "sections.toml"
LEVELS = ["-O0", "-O1", "-O2"]


class Failure(Exception):
    pass


class Examination:
    def __init__(self, options):
        self.options = options
        self.checkers = ["clang", "gcc"] if options.check else []
        self.count = self.checked = self.inSections = self.elsewhere = 0

    def examine(self, seed):
        place = os.path.join(self.options.directory, str(seed))
        os.makedirs(place, exist_ok=True)
        program = programs.make(seed)
        self.source, self.isObjects = program.name, program.isObjects
        for name, text in ((program.name, program.source), (SECTIONS, program.sections)):
            with open(os.path.join(place, name), "w") as file:
                file.write(text)
        both, ours = program.flags
        self.compile(place, ["clang", "-O2", *both], "clang")
        wanted = self.outcome(place, ["./clang"], "clang's")
        if self.options.check and seed % self.options.check == 0:
            self.check(place, both)
        for level in self.levels(seed):
            made = f"farside{level}"
            self.compileUnits(place, ["farside-cc", level, *both, *ours, f"-fsections={SECTIONS}"], made, program.units)
            self.compare(wanted, self.outcome(place, [f"./{made}"], level), f"{level} in plain memory")
            if self.options.farside:
                run = [self.options.farside, "run", "--local", "2M", "--offload", "always", "--", f"./{made}"]
                self.compare(wanted, self.outcome(place, run, level), f"{level} in far memory")
        self.count += 1
        for name in os.listdir(place):
            os.remove(os.path.join(place, name))
        os.rmdir(place)

    def levels(self, seed):
        return [LEVELS[(seed + more) % len(LEVELS)] for more in range(min(self.options.levels, len(LEVELS)))]

    def compileUnits(self, place, command, made, units):
        if units == 1:
            return self.compile(place, command, made)
        objects = [f"{number}.o" for number in range(1, units + 1)]
        for number, object in enumerate(objects, 1):
            self.compile(place, [*command, f"-DUNIT={number}", "-c"], object)
        self.run(place, [*command, *objects, "-o", made])

    def compile(self, place, command, made):
        self.run(place, [*command, "-w", self.source, "-o", made])

    def run(self, place, command):
        if self.isObjects:
            command = [{"clang": "clang++", "gcc": "g++", "farside-cc": "farside-c++"}[command[0]], *command[1:]]
        try:
            done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=self.options.patience)
        except subprocess.TimeoutExpired:
            raise Failure(f"'{' '.join(command)}' does not end") from None
        if done.returncode:
            raise Failure(f"'{' '.join(command)}' fails:\n{done.stderr[-6000:]}")

    def outcome(self, place, command, what):
        try:
            done = subprocess.run(command, cwd=place, capture_output=True, timeout=self.options.patience)
        except subprocess.TimeoutExpired:
            raise Failure(f"the program of {what} does not end: {' '.join(command)}") from None
        if b"sections: " in done.stderr:
            self.inSections += 1
        if ran := re.search(rb"farside: ([\d,]+) calls ran where", done.stderr):
            self.elsewhere += int(ran[1].replace(b",", b""))
        # A process that a signal ended is 128 and more to those that run it.
        return done.stdout, done.returncode if done.returncode >= 0 else 128 - done.returncode, done.stderr

    def compare(self, wanted, got, what):
        if wanted[:2] == got[:2]:
            return
        lines = [f"{what} differs: ends with {got[1]} in place of {wanted[1]}"]
        for one, other in zip(wanted[0].splitlines(), got[0].splitlines()):
            if one != other:
                lines.append(f"  {other.decode(errors='replace')} in place of {one.decode(errors='replace')}")
        raise Failure("\n".join([*lines, got[2].decode(errors="replace")[-2000:]]))

    def check(self, place, both):
        """The generator itself: a program with undefined behaviour shows nothing."""
        command = ["-O1", *both, "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
        for compiler in self.checkers:
            try:
                self.compile(place, [compiler, *command], "checked")
            except (Failure, FileNotFoundError):
                # A compiler may come without what sanitizers need at run time.
                continue
            os.environ["ASAN_OPTIONS"] = "detect_leaks=0"
            _, _, errors = self.outcome(place, ["./checked"], "the sanitizers")
            if b"runtime error" in errors or b"AddressSanitizer" in errors:
                raise Failure(f"the generator made what is not defined:\n{errors.decode(errors='replace')[:2000]}")
            self.checked += 1
            return


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", help="where programs are made; those that fail stay there")
    parser.add_argument("--seed", type=int, help="the first seed; by chance if it is not given")
    parser.add_argument("--count", type=int, default=1, help="so many programs, with seeds one after another")
    parser.add_argument("--seconds", type=float, help="end after this time, though fewer programs were made")
    parser.add_argument("--farside", default="", help="the farside that runs them on far memory")
    parser.add_argument("--check", type=int, default=0, metavar="N",
                        help="each program whose seed is a multiple of N is also run with sanitizers")
    parser.add_argument("--levels", type=int, default=len(LEVELS), metavar="N",
                        help="each program is compiled at so many of the levels, in turn: to try out more programs")
    parser.add_argument("--patience", type=float, default=60, help="seconds after which something does not end")
    parser.add_argument("--keep-going", action="store_true", help="do not stop at the first failure")
    parser.add_argument("--print", action="store_true", help="only print the program and its section file")
    options = parser.parse_args()
    # Sections are what is tested, also where they have room for everything.
    os.environ["FARSIDE_SECTIONS_CACHED"] = "always"
    first = options.seed if options.seed is not None else int.from_bytes(os.urandom(4), "little")
    if options.print:
        program = programs.make(first)
        print(program.source, program.sections, " ".join(map(" ".join, program.flags)), sep="\n")
        return 0
    if options.farside:
        options.farside = os.path.abspath(options.farside)
    examination, failed, start = Examination(options), [], time.monotonic()
    print(f"seeds from {first} on", flush=True)
    for seed in range(first, first + options.count):
        if seed > first and (seed - first) % 100 == 0:
            print(f"{examination.count} programs did the same so far, {len(failed)} did not", flush=True)
        if options.seconds and time.monotonic() - start > options.seconds:
            break
        try:
            examination.examine(seed)
        except Failure as failure:
            failed.append(seed)
            print(f"seed {seed}: {failure}\n  in {os.path.join(options.directory, str(seed))}", flush=True)
            if not options.keep_going:
                break
    print(f"{examination.count} programs did the same, {len(failed)} did not; {examination.inSections} runs used sections, "
          f"{examination.elsewhere} calls ran where their data is, {examination.checked} programs were checked with sanitizers")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
