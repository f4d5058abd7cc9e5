"""Whole programs, with the section files that name some of their allocations. A seed makes always the same ones."""

import random as randoms
import re
from dataclasses import dataclass

import containers
import objects
import whole_functions
from expressions import Array, Scope
from statements import Statements, indented
from types_of_data import U64, Scalar, Struct, pointersOf, someScalar, someStruct
from units import divided

PRELUDE = """\
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef unsigned long u64;
typedef unsigned four __attribute__((vector_size(16)));
static u64 mix(u64 h, u64 v) { return (h << 7 | h >> 57) * 31 + v; }
static u64 smaller(u64 a, u64 b) { return a < b ? a : b; }
static int by_byte(const void *a, const void *b) { return *(const unsigned char *)a - *(const unsigned char *)b; }
static u64 fold(unsigned __int128 v) { return (u64)v ^ (u64)(v >> 64); }
static u64 bits_of(double d) { u64 v; memcpy(&v, &d, sizeof v); return v; }
#ifdef __cplusplus
/* What is there has to be destroyed, whatever comes. */
struct watched { u64 &h; ~watched() { h = mix(h, 5); } };
#define WATCHED(h) watched watching{h}
#else
#define WATCHED(h) (void)h
#endif
/* What sanitizers want of the size, too. */
#define ALIGNED(alignment, size) aligned_alloc(alignment, ((size) + (alignment) - 1) / (alignment) * (alignment))
"""

ESCAPES = """\
extern void *known;
void *various(int count, ...);
extern void *(*volatile ways[2])(void *);
#if !defined UNIT || UNIT == 1
void *known;
__attribute__((noinline)) void *various(int count, ...) {
  va_list list;
  va_start(list, count);
  void *p = va_arg(list, void *);
  va_end(list);
  return p;
}
static void *same(void *p) { return p; }
static void *none(void *p) { (void)p; return 0; }
void *(*volatile ways[2])(void *) = {same, none};
#endif
static void *through(void *p) { return ways[0](p); }
"""


@dataclass
class Helper:
    name: str
    arrays: list
    times: int
    isRestrict: bool


@dataclass
class Program:
    source: str
    sections: str
    flags: list
    #: How many units it can be compiled as.
    units: int
    name: str
    #: It is C++, or else C.
    isObjects: bool


class Maker:
    def __init__(self, seed):
        self.random = randoms.Random(seed)
        #: Most programs let no pointer out, so that what is in them goes to sections.
        self.statements = Statements(self.random, self.random.random() < 0.2)
        self.parts = []
        self.sites = 0
        self.types = []
        # By chance of their own, as units are.
        self.shape = randoms.Random(seed * 2 + 1)
        self.isObjects = self.shape.random() < 0.25
        self.hasThreads = False
        self.reading = randoms.Random(seed * 2 + 2)
        self.contained = randoms.Random(f"containers {seed}")
        self.hasReaders = False

    def make(self):
        random, name = self.random, "program.cpp" if self.isObjects else "program.c"
        for _ in range(random.randint(2, 4)):
            self.types.append(someScalar(random))
        for number in range(random.randint(1, 3)):
            made = someStruct(random, number, self.types)
            self.types.append(made)
            self.parts.append(made.declaration())
        if self.statements.escaping:
            self.parts.append(ESCAPES)
        for number, type in enumerate(self.types):
            self.addForType(number, type)
        for number in range(random.randint(1, 4)):
            self.addHelper(number)
        if self.shape.random() < 0.3:
            self.addLeaping(random.randrange(len(self.types)))
        scenarios = [self.addScenario(number) for number in range(random.randint(2, 4))]
        scenarios += [self.addNodes(number, type) for number, type in enumerate(self.types)
                      if any(each.target is type for each in pointersOf(type)) and random.random() < 0.7]
        scenarios += self.wholeFunctions()
        random.shuffle(scenarios)
        self.addMain(scenarios)
        # By chance of their own, so that what a seed makes does not depend on it.
        dividing = randoms.Random(random.random())
        units = 1 if self.isObjects else dividing.choice([1, 1, 2, 3])
        source = PRELUDE + (objects.PRELUDE + containers.PRELUDE) * self.isObjects
        source += divided(self.parts, units, dividing) if units > 1 else "\n".join(self.parts)
        return Program(source, self.sectionFile(source, name, units), self.flags(units), units, name,
                       self.isObjects)

    def qualifiers(self):
        """Functions that others may call let out what is passed to them."""
        ways = ["static ", "static ", "static __attribute__((noinline)) ", "static __attribute__((noinline)) "]
        return self.random.choice(ways + (["", "__attribute__((noinline)) "] if self.statements.escaping else []))

    def add(self, head, lines):
        self.parts.append("\n".join([head + " {"] + indented(lines) + ["}"]) + "\n")

    def site(self, function=""):
        self.sites += 1
        return f"/* site {self.sites}{' of ' * bool(function)}{function} */"

    def addForType(self, number, type):
        """What allocates, fills, searches and copies elements of a type."""
        random, c = self.random, type.c
        how = random.choice(["malloc(count * sizeof({}))", "calloc(count, sizeof({}))", "realloc(0, count * sizeof({}))",
                             self.aligned("count", "count * sizeof({})")])
        made = f"  return ({c} *){how.format(c)}; {self.site(f'make_{number}')}\n"
        if random.random() < 0.15:
            call = f"posix_memalign(&made, {random.choice([8, 64, 512])}, count * sizeof({c}))"
            made = f"  void *made; return {call} ? 0 : ({c} *)made; {self.site(f'make_{number}')}\n"
        self.parts.append(f"static {random.choice(['', '__attribute__((noinline)) '])}{c} *make_{number}(u64 count) {{\n"
                          f"{made}}}\n")
        scope = Scope([], ["v", "i"])
        lines = ["memset(&a[i], 0, sizeof a[i]);"]
        parts = [("", type)] if isinstance(type, Scalar) else list(type.leaves())
        for suffix, scalar in parts[:8]:
            lines += [f"a[i]{suffix} = {scalar.write(f'v * {random.randint(1, 99)} + i')};"]
        self.add(f"static void init_{number}({c} *a, u64 from, u64 to, u64 v)",
                 ["for (u64 i = from; i < to; i++) {"] + indented(lines) + ["}"])
        part = self.statements.part(type)
        if part and random.random() < 0.7:
            read = part[1].read
            self.add(f"{self.qualifiers()}{c} *find_{number}({c} *a, u64 count, u64 v)",
                     ["for (u64 i = 0; i < count; i++)", f"  if ({read('a[i]' + part[0])} % 5 == v % 5) return &a[i];",
                      f"return {random.choice(['0', 'a', 'a + count - 1'])};"])
            self.add(f"{self.qualifiers()}{c} whole_{number}({c} one, const {c} *other)",
                     [f"if ({read('one' + part[0])} & 1) return *other;",
                      self.statements.assignment(scope.inner(numbers=["1"]), "one" + part[0], part[1], 0), "return one;"])
            self.add(f"static u64 deep_{number}({c} *a, u64 from, u64 to, u64 h)",
                     [f"if (to - from < 2) return mix(h, {read('a[from]' + part[0])});",
                      f"h = deep_{number}(a, from, (from + to) / 2, h);",
                      f"return deep_{number}(a, (from + to) / 2, to, h);"])
            self.statements.finders[type] = number

    def aligned(self, number, size):
        """What allocates at a multiple of a constant, or of what depends on a number, which may be too much for a section."""
        alignment = self.random.choice(["16", "64", "256", "4096", f"(16ul << {number} % 14)"])
        return self.random.choice([f"ALIGNED({alignment}, {size})", f"memalign({alignment}, {size})"])

    def addHelper(self, number):
        random = self.random
        plain = [type for type in self.types if not pointersOf(type)]
        isRestrict = bool(plain) and random.random() < 0.3
        arrays = [Array(f"a{i}", random.choice(plain if isRestrict else self.types), "n", random.randint(1, 2),
                        random.randint(0, 1)) for i in range(random.randint(1, 3))]
        self.statements.areApart = isRestrict
        star = "*restrict " if isRestrict else "*"
        parameters = "".join(f"{array.type.c} {star}{array.name}, " for array in arrays)
        times = random.choice([4, 100])
        scope = Scope(arrays, ["h"], times=1 if times == 100 else 40)
        body = self.statements.block(scope, random.randint(1, 4))
        name = f"help_{number}"
        self.add(f"{self.qualifiers()}u64 {name}({parameters}u64 n, u64 h)", body + ["return h;"])
        self.statements.areApart = True
        self.statements.helpers.append(Helper(name, arrays, times, isRestrict))

    def addScenario(self, number):
        """A function that allocates, works, and frees."""
        random, statements = self.random, self.statements
        lines, arrays, ends = [], [], []
        for index in range(random.randint(1, 2)):
            type = random.choice(["u64", "unsigned", "int", "long"])
            lines += [f"{type} n{index} = ({type})({random.choice([1, 2, 7, 33, 60, 150, 400])} + size % 3);"]
        lengths = index + 1
        for index in range(random.randint(2, 5)):
            which = random.choices(range(len(self.types)), [1 + isinstance(type, Struct) for type in self.types])[0]
            array = Array(f"a{index}", self.types[which], f"n{random.randrange(lengths)}", random.choice([1, 1, 2, 3]),
                          random.randint(0, 2), random.random() < 0.7)
            lines += self.allocate(array, which)
            if not array.isOnStack:
                ends += [f"free({array.name});"]
            arrays.append(array)
        scope = Scope(arrays)
        for _ in range(random.randint(3, 8)):
            lines += statements.statement(scope)
            if random.random() < 0.2:
                lines += self.grow(arrays)
        for array in arrays:
            if part := statements.part(array.type):
                lines += [f"for (u64 i = 0; i < {array.count()}; i++) h = mix(h, "
                          f"{part[1].read(f'{array.name}[i]' + part[0])});"]
        random.shuffle(ends)
        head = f"static {random.choice(['', '__attribute__((noinline)) '])}u64 scenario_{number}(u64 size, u64 h)"
        self.add(head, lines + ends + ["return h;"])
        return f"scenario_{number}"

    def allocate(self, array, which):
        random, c, count = self.random, array.type.c, array.count()
        kind = random.random()
        if kind < 0.1:
            most = array.times * 403 + array.more
            array.isOnStack = True
            return [f"{c} {array.name}[{most}];", f"init_{which}({array.name}, 0, {most}, h);"]
        if kind < 0.6:
            made = f"make_{which}({count})"
        else:
            made = random.choice([f"malloc({count} * sizeof({c}))", f"calloc({count}, sizeof({c}))",
                                  self.aligned("size", f"{count} * sizeof({c})")])
            made = f"({c} *){made}; {self.site()}"
        declared = f"{c} *{array.name}"
        if random.random() < 0.25:
            # Where it is is in memory: in a variable of all functions, or in a structure.
            array.name, declared = self.statements.fresh("g"), ""
            isBoxed = random.random() < 0.5
            self.parts.append(f"static struct {{ u64 n; {c} *a; }} {array.name};\n" if isBoxed else
                              f"static {c} *{array.name};\n")
            array.name += ".a" * isBoxed
        return [f"{declared or array.name} = {made};", f"init_{which}({array.name}, 0, {count}, {self.random.randint(1, 999)} + h);"]

    def grow(self, arrays):
        """Moves an array that nothing points to, and makes it longer or shorter."""
        movable = [array for array in arrays if not array.isStable and not array.isOnStack]
        if not movable:
            return []
        array = self.random.choice(movable)
        had, was = array.count(), self.statements.fresh("had")
        array.times, array.more = self.random.choice([1, 2, 4]), self.random.randint(0, 3)
        which = self.types.index(array.type)
        return [f"const u64 {was} = {had};", f"if ({was} != 0) {{",
                f"  {array.name} = ({array.type.c} *)realloc({array.name}, {array.count()} * sizeof *{array.name}); {self.site()}",
                f"  if ({array.count()} > {was}) init_{which}({array.name}, {was}, {array.count()}, h);", "}"]

    def addNodes(self, number, type):
        """Lists and trees of nodes that are allocated one by one."""
        c, statements = type.c, self.statements
        own = [each.pointer() for each in pointersOf(type) if each.target is type]
        next, part = own[0], statements.part(type)
        which = self.types.index(type)
        key = part[1].read("at" + "->" + part[0][1:]) if part else "1"
        count = self.random.choice([3, 40, 300])
        lines = [f"{c} *first = 0, *at, *back = 0;", f"for (u64 i = 0; i < {count}; i++) {{",
                 f"  at = make_{which}(1);", f"  init_{which}(at, 0, 1, i * 7 + size);",
                 f"  {c} **place = &first;", "  u64 steps = i % 9;",
                 f"  while (*place && steps-- > 0) place = &(*place)->{self.random.choice(own)};"
                 if not type.isPacked else "",
                 f"  at->{next} = *place;", "  *place = at;", "}"]
        # Where a node has two ways, what is behind the other one stays where it is.
        lines += [f"u64 left = {2 * count};", f"for (at = first; at && left-- > 0; at = at->{next}) h = mix(h, {key});",
                  "at = first;", "left = 0;", "while (at) {", f"  {c} *following = at->{next};",
                  f"  at->{next} = back;", "  back = at;", "  at = following;", "  left++;", "}"]
        lines += ["at = back;", "while (at) {", f"  {c} *gone = at;", f"  at = at->{next};",
                  f"  h = mix(h, {key.replace('at->', 'gone->')});", "  free(gone);", "}"]
        self.add(f"static u64 nodes_{number}(u64 size, u64 h)", lines + ["return mix(h, left);"])
        return f"nodes_{number}"

    def addLeaping(self, which):
        """A helper that is left by a jump out of what it calls."""
        type = self.types[which]
        if part := self.statements.part(type):
            name, scalar = "jump_0", part[1]
            before, lines = whole_functions.leaping(name, (type.c, part[0]), scalar.read, scalar.write, self.shape)
            self.parts.append(before)
            self.add(f"static __attribute__((noinline)) u64 {name}({type.c} *a, u64 n, u64 h)", lines)
            self.statements.helpers.append(Helper(name, [Array("a", type, "n")], 100, False))

    def wholeFunctions(self):
        """Functions that work with threads, or with what only C++ has."""
        made = []
        for kind, chance in ((self.threads, 0.2), (self.owners, 0.2), (self.objects, 0.8 * self.isObjects),
                             (self.vectors, 0.8 * self.isObjects)):
            for number, type in enumerate(self.types):
                if self.shape.random() < chance / 2 and (function := kind(number, type)):
                    name, before, lines = function
                    self.parts.append(before)
                    self.add(f"static u64 {name}(u64 size, u64 h)", lines)
                    made.append(name)
        # By chance of their own, too, so that a seed makes of the rest what it did.
        if self.reading.random() < 0.2:
            made += self.readers(self.reading.randrange(len(self.types)))
        if self.isObjects and self.contained.random() < 0.6:
            made += self.containers(self.contained.randrange(len(self.types)))
        return made

    def containers(self, number):
        part = self.statements.part(self.types[number])
        if not part:
            return []
        name = f"containers_{number}"
        before, lines = containers.containers(name, self.types[number].c, *part, self.site, self.contained)
        self.parts.append(before)
        self.add(f"static u64 {name}(u64 size, u64 h)", lines)
        return [name]

    def readers(self, number):
        part = self.statements.part(self.types[number])
        if not part:
            return []
        self.hasThreads = self.hasReaders = True
        name = f"readers_{number}"
        before, lines = whole_functions.readers(name, self.types[number].c, part, self.site, self.reading)
        self.parts.append(before)
        self.add(f"static u64 {name}(u64 size, u64 h)", lines)
        return [name]

    def threads(self, number, type):
        parts = [part for part in (self.statements.part(type) for _ in range(self.shape.randint(1, 3))) if part]
        if not parts:
            return None
        self.hasThreads = True
        return f"threads_{number}", *whole_functions.threads(f"threads_{number}", number, type.c, parts, self.shape)

    def owners(self, number, type):
        part = self.statements.part(type)
        if not part:
            return None
        self.hasThreads = True
        name = f"owners_{number}"
        return name, *whole_functions.owners(name, type.c, [part], self.site, self.shape)

    def objects(self, number, type):
        part = self.statements.part(type)
        return part and (f"objects_{number}", *objects.objects(f"objects_{number}", type.c, *part, self.site, self.shape))

    def vectors(self, number, type):
        part = self.statements.part(type)
        # A vector of truth values has no elements that can be pointed to.
        return part and type.c != "_Bool" and (
            f"vectors_{number}", *objects.vectors(f"vectors_{number}", type.c, *part, self.site, self.shape))

    def addMain(self, scenarios):
        lines = ["u64 h = 1;", "const u64 size = (u64)count * 3;"]
        for each in scenarios:
            lines += [f"h = {each}(size, h);", f'printf("{each} %016lx\\n", h);']
        if self.random.random() < 0.1:
            lines += ["exit((int)(h & 63));"]
        self.add("int main(int count, char **arguments)", lines + ["return (int)(h & 127);"])

    def sectionFile(self, source, name, units):
        random = self.random
        places = [(line, match) for line, text in enumerate(source.split("\n"), 1)
                  if (match := re.search(r"/\* site \d+( of \w+)? \*/", text))]
        # What is called by nobody is not compiled, and to name it is an error. Of several units, functions are declared.
        least = 1 if units == 1 else 2
        places = [(line, match) for line, match in places
                  if not match[1] or len(re.findall(rf"\b{match[1][4:]}\(", source)) > least]
        sections = [[] for _ in range(random.choice([1, 1, 2, 3]))]
        for line, _ in places:
            if random.random() < 0.9:
                random.choice(sections).append(f'{{ file = "{name}", line = {line} }}')
        text = f"threads = {random.choice(['true', 'false'])}\n" if random.random() < 0.3 else ""
        if self.hasThreads:
            text = text.replace("false", "true")
        # Of several sections some share memory, of some each thread has its own, and of some only fields come and go; by chance
        # of their own, as units are.
        sharing, copying, first = randoms.Random(len(source) + 1), randoms.Random(len(source) + 2), None
        for number, sites in enumerate(sections):
            if not sites:
                continue
            line = random.choice([64, 64, 128, 256, 512, 1024, 4096])
            structure, lines = random.choice([('"direct"', 8), ("2", 8), ("4", 8), ('"full"', 16)])
            text += (f"[section.s{number}]\nline = {line}\nstructure = {structure}\n"
                     f"capacity = {line * random.choice([lines, lines, lines * 2, lines * 8])}\n")
            if random.random() < 0.4:
                text += f"ahead = {random.choice([0, 1, 3, 8])}\n"
            copies = copying.random() < (0.7 if self.hasReaders else 0.05)
            if copies:
                text += "copies = true\n"
            elif sharing.random() < (0.5 if self.hasThreads else 0.1):
                text += "own = true\n"
            elif first is None:
                first = number
            elif sharing.random() < 0.5:
                text += f'with = "s{first}"\n'
            if not copies and sharing.random() < 0.5:
                text += "fields = true\n"
            text += "sites = [\n" + "".join(f"  {site},\n" for site in sites) + "]\n"
        return self.offload(source) + text

    def offload(self, source):
        """Functions that are to run where their data is: as many as can."""
        # By chance of their own, as units are.
        random = randoms.Random(len(source))
        names = sorted(set(re.findall(r"\b([a-z]+_\d+)\(", source)))
        if not names or random.random() < 0.4:
            return ""
        return "offload = [" + ", ".join(f'"{name}"' for name in names if random.random() < 0.8) + "]\n"

    def flags(self, units):
        """Of both compilers, then of farside-cc alone."""
        both, ours = ["-ffp-contract=off"] + ["-std=c++17"] * self.isObjects, []
        if self.random.random() < 0.15:
            both.append("-fno-inline")
        if self.random.random() < 0.15:
            both.append("-fno-strict-aliasing")
        if self.random.random() < 0.2:
            both.append("-g")
        if self.random.random() < 0.3 and units == 1:
            ours.append("-ffarside-whole-program")
        elif self.random.random() < 0.2 and units == 1:
            ours.append("-fno-farside-link")
        if self.random.random() < 0.2:
            ours.append("-ffarside-passes=farside-structure,farside-unstructure")
        return [both, ours]


def make(seed):
    return Maker(seed).make()
