"""Statements of the programs: lists of lines. What each does is defined, and it ends soon."""

from expressions import Array, Expressions
from jumps import Jumps, indented
from products import Products
from searches import Searches
from types_of_data import Scalar, Struct, pointersOf, takesAnyBytes


class Statements(Jumps, Products, Searches, Expressions):
    """Makes statements; `helpers` can be called, as (name, types of arrays)."""

    mostTimes = 3000

    def __init__(self, random, escaping):
        super().__init__(random)
        self.escaping = escaping
        self.helpers = []
        #: Functions that search elements of a type, and that take and give one.
        self.finders = {}
        #: Whether no two arrays of a scope are the same.
        self.areApart = True
        self.names = 0

    def fresh(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def block(self, scope, count):
        lines = []
        for _ in range(count):
            lines += self.statement(scope)
        return lines

    def statement(self, scope):
        ways = [(8, self.assign), (4, self.mix), (5, self.conditional), (3, self.fill), (3, self.copy),
                (3, self.copyElement), (3, self.walkPointers), (3, self.pointToField), (3, self.either), (2, self.bytes),
                (3, self.pointers), (2, self.fromFunction), (3, self.link), (2, self.search), (1, self.choose), (4, self.call),
                (2, self.compare), (1, self.moved), (1, self.overwrite), (1, self.swap), (1, self.skip),
                (3, self.library), (3, self.byWay)]
        if scope.depth < 4:
            ways += [(10, self.loop), (4, self.carry), (5, self.streams), (14, self.oneBehindTheOther), (1, self.again),
                     (1, self.enter), (4, self.probe), (6, self.product)]
        if scope.inLoop:
            ways += [(2, self.leave)]
        if scope.depth > 0 and (not scope.inLoop or scope.back.startswith("return")):
            ways += [(1, self.comeBack)]
        if self.escaping:
            ways += [(1, self.escape)]
        weights, choices = zip(*ways)
        return self.random.choices(choices, weights)[0](scope) or self.mix(scope)

    def some(self, scope, fits=lambda array: True):
        arrays = [array for array in scope.arrays if fits(array)]
        return self.random.choice(arrays) if arrays else None

    def mix(self, scope):
        return [f"h = mix(h, {self.number(scope)});"]

    def assign(self, scope):
        array = self.some(scope)
        place = array and self.leaf(scope, array)
        return place and [self.assignment(scope, *place)]

    def conditional(self, scope):
        inner = scope.inner()
        lines = [f"if ({self.condition(scope)}) {{"] + indented(self.block(inner, self.random.randint(1, 2)))
        if self.random.random() < 0.4:
            lines += ["} else {"] + indented(self.block(inner, self.random.randint(1, 2)))
        return lines + ["}"]

    def choose(self, scope):
        value, cases = f"{self.unforeseen(scope)} % 5", list(range(5))
        # Some are told apart by their upper halves only.
        if self.random.random() < 0.5:
            value += f" + ({self.unforeseen(scope)} % 2 << 32)"
            cases += [case + (1 << 32) for case in cases]
        lines = [f"switch ({value}) {{"]
        for case in self.random.sample(cases, 3):
            lines += [f"case {case}: {{"] + indented(self.block(scope.inner(inLoop=False, back="break;"), 1)) + ["}"]
            if self.random.random() < 0.6:
                lines += ["  break;"]
        return lines + ["default: h++;", "}"]

    # Loops.

    def loop(self, scope):
        """Over all of some arrays, or a few times, in one of the ways that loops are written."""
        random, turn = self.random, self.fresh("i")
        array = self.some(scope)
        isLong = array and scope.times * 100 < self.mostTimes and random.random() < 0.8
        end, times = (array.length, 100) if isLong else (str(random.choice([0, 1, 2, 3, 7, 16])), 4)
        if scope.times * times > self.mostTimes:
            return None
        type = random.choice(["u64", "u64", "unsigned", "int", "long"])
        step = random.choice([1, 1, 1, 1, 2, 3, 5])
        inner = scope.inner(times=scope.times * times, inLoop=True)
        # A turn is less than the length only if the loop goes over it.
        inner.turns[turn] = end
        body = indented(self.block(inner, random.choice([1, 1, 1, 2, 3])))
        kind = random.random()
        if kind < 0.55:
            return [f"for ({type} {turn} = 0; {turn} < ({type}){end}; {turn} += {step}) {{"] + body + ["}"]
        if kind < 0.7:
            type = random.choice(["int", "long"])
            return [f"for ({type} {turn} = ({type}){end} - 1; {turn} >= 0; {turn} -= {step}) {{"] + body + ["}"]
        if kind < 0.85:
            return [f"for (u64 {turn} = {end}; {turn}-- > 0;) {{"] + body + ["}"]
        # The step is first, since what is in the loop may go on with the next turn.
        next = self.fresh("w")
        return [f"for (u64 {next} = 0; {next} < (u64){end};) {{", f"  const u64 {turn} = {next};",
                f"  {next} += {step};"] + body + ["}"]

    def carry(self, scope):
        """A loop that counts, with some values that go from turn to turn."""
        array = self.some(scope)
        if not array or scope.times * 100 > self.mostTimes:
            return None
        random, turn, value = self.random, self.fresh("i"), self.fresh("v")
        inner = scope.inner(times=scope.times * 100, inLoop=True)
        inner.turns[turn] = array.length
        inner.numbers.append(value)
        lines = [f"u64 {value} = {self.number(scope, 1)};",
                 f"for (u64 {turn} = 0; {turn} < {array.length}; {turn}++) {{"]
        for _ in range(random.randint(1, 4)):
            lines += indented(self.assign(inner) or [])
        lines += [f"  {value} = {self.number(inner)};"]
        return lines + ["}", f"h = mix(h, {value});"]

    def streams(self, scope):
        """A loop that goes through several arrays at once, or several times through one, each its own distance on."""
        array = self.some(scope)
        if not array or scope.times * 100 > self.mostTimes:
            return None
        random, turn = self.random, self.fresh("i")
        inner = scope.inner(times=scope.times * 100, turns={turn: array.length})
        inner.arrays = [other for other in scope.arrays if other.length == array.length]
        lines = []
        for _ in range(random.choice([1, 2, 3, 4, 6])):
            lines += self.assign(inner) or []
            if random.random() < 0.3:
                lines += [f"if ({self.condition(inner, 1)}) {self.mix(inner)[0]}"]
        end = random.choice([array.length] * 3 + [f"smaller({array.length}, {self.number(scope, 1)} % 200)"])
        head = random.choice([f"for (u64 {turn} = 0; {turn} < {end}; {turn}++) {{",
                              f"for (u64 {turn} = {end}; {turn}-- > 0;) {{"])
        return [head] + indented(lines) + ["}"]

    def oneBehindTheOther(self, scope):
        """Some loops over the same arrays with as many turns, each with a sum of its own."""
        array = self.some(scope)
        if not array or scope.times * 200 > self.mostTimes:
            return None
        random = self.random
        arrays = [other for other in scope.arrays if other.length == array.length]
        # Some loops leave out the first and the last turn, and come to what lies before or behind.
        before, behind = random.choice([(0, 0), (0, 0), (0, 1), (1, 0), (1, 1)])
        start, end = str(before), f"{array.length} - {behind}" if behind else array.length
        sums = [self.fresh("v") for _ in range(random.choice([2, 2, 3]))]
        lines = [f"u64 {', '.join(f'{each} = {self.simple(scope)}' for each in sums)};"]
        for each in sums:
            turn = self.fresh("i")
            inner = scope.inner(times=scope.times * 100, numbers=[each], turns={turn: array.length}, arrays=arrays)
            near = [turn, turn] + [f"{turn} - 1"] * before + [f"{turn} + 1"] * behind
            body = []
            for _ in range(random.choice([1, 1, 2, 3])):
                body += self.oneOf(inner, each, near)
            lines += [f"for (u64 {turn} = {start}; {turn} < {end}; {turn}++) {{"] + indented(body) + ["}"]
            if random.random() < 0.1:
                lines += self.mix(scope)
        return lines + [f"h = mix(h, {each});" for each in sums]

    def oneOf(self, scope, sum, near):
        """Something that a turn does with elements that are as far from it in each."""
        random = self.random

        def element():
            array = random.choice(scope.arrays)
            part = self.part(array.type)
            step = random.randint(1, array.times)
            at = random.choice(near) if step == 1 or random.random() < 0.7 else f"{next(iter(scope.turns))} * {step}"
            return part and (f"{array.name}[{at}]" + part[0], part[1])

        places = [place for place in (element(), element()) if place]
        if not places:
            return [f"{sum}++;"]
        (to, scalar), (source, read) = places[0], places[-1]
        value = f"({read.read(source)} {random.choice(['+', '*', '^'])} {random.choice([sum, self.simple(scope)])})"
        kind = random.random()
        if kind < 0.4:
            return [f"{sum} = mix({sum}, {value});"]
        if kind < 0.75:
            return [f"{to} = {scalar.write(value)};"]
        if kind < 0.85:
            return [f"if ({self.condition(scope, 1)}) {to} = {scalar.write(value)};"]
        return self.assign(scope) or []

    def leave(self, scope):
        return [f"if ({self.number(scope)} % {self.random.choice([3, 17, 100])} == 0) "
                f"{self.random.choice(['break', 'continue'])};"]

    def comeBack(self, scope):
        return [f"if ({self.unforeseen(scope)} % 3 == 0) {scope.back}"]

    # Pointers.

    def walkPointers(self, scope):
        """From the first to one past the end, or back."""
        array = self.some(scope)
        part = array and self.part(array.type)
        if not part or scope.times * 200 > self.mostTimes:
            return None
        at, end, type = self.fresh("p"), self.fresh("e"), array.type.c
        lvalue, scalar = f"(*{at}){part[0]}", part[1]
        inner = scope.inner(times=scope.times * 200, inLoop=True, arrays=[])
        body = self.random.choice([[f"h = mix(h, {scalar.read(lvalue)});"], [self.assignment(inner, lvalue, scalar)]])
        if self.random.random() < 0.5:
            head = f"for ({type} *{at} = {array.name}, *{end} = {at} + {array.count()}; {at} != {end}; {at}++) {{"
        else:
            head = f"for ({type} *{end} = {array.name}, *{at} = {end} + {array.count()}; {at} > {end};) {{"
            body = [f"{at}--;"] + body
        return [head] + indented(body) + ["}"]

    def pointToField(self, scope):
        array = self.some(scope)
        place = array and self.leaf(scope, array, addressable=True)
        if not place:
            return None
        pointer, (lvalue, scalar) = self.fresh("p"), place
        inner = scope.inner()
        return ["{", f"  {scalar.c} *{pointer} = &{lvalue};"] + indented(
            self.block(inner, self.random.randint(0, 1)) +
            [self.assignment(scope, f"*{pointer}", scalar), f"h = mix(h, {scalar.read('*' + pointer)});"]) + ["}"]

    def use(self, scope, pointer, type):
        """Reads and writes something behind a pointer that may be null."""
        part = self.part(type)
        if not part:
            return [f"h = mix(h, {pointer} != 0);"]
        lvalue, scalar = f"{pointer}->{part[0][1:]}" if part[0].startswith(".") else f"*{pointer}", part[1]
        return [f"if ({pointer}) {{", f"  h = mix(h, {scalar.read(lvalue)});",
                "  " + self.assignment(scope, lvalue, scalar), "}"]

    def either(self, scope):
        """A pointer to one of two arrays, on the heap or on the stack, or to none."""
        one = self.some(scope)
        if not one:
            return None
        other = self.some(scope, lambda array: array.type is one.type)
        pointer, local, type = self.fresh("p"), self.fresh("l"), one.type.c
        first = f"&{one.name}[{self.index(scope, one)}]"
        second = self.random.choice([f"&{other.name}[{self.index(scope, other)}]", f"&{local}", f"({type} *)0"])
        return ["{"] + indented([f"{type} {local};", f"memset(&{local}, 0, sizeof {local});",
                                 f"{type} *{pointer} = {self.condition(scope)} ? {first} : {second};",
                                 *self.use(scope, pointer, one.type)]) + ["}"]

    def pointers(self, scope):
        """A pointer that is stored in an element, and followed if it is there."""
        array = self.some(scope, lambda array: pointersOf(array.type))
        if not array:
            return None
        each, pointer = self.random.choice(pointersOf(array.type)), self.fresh("p")
        target = self.some(scope, lambda other: other.type is each.target and other.isStable)
        at = f"{array.name}[{self.index(scope, array)}].{each.pointer()}"
        lines = []
        if target and self.random.random() < 0.7:
            lines += [f"{at} = &{target.name}[{self.index(scope, target)}];"]
            at = self.random.choice([at, f"{array.name}[{self.index(scope, array)}].{each.pointer()}"])
        return ["{"] + indented(lines + [f"{each.target.c} *{pointer} = {at};",
                                         *self.use(scope, pointer, each.target)]) + ["}"]

    def fromFunction(self, scope):
        """A pointer that a function gives back, an element that goes through one, or one that calls itself."""
        array = self.some(scope, lambda array: array.type in self.finders)
        if not array:
            return None
        name, pointer, at = self.finders[array.type], self.fresh("p"), self.index(scope, array)
        if self.random.random() < 0.3:
            return [f"{array.name}[{at}] = whole_{name}({array.name}[{at}], &{array.name}[{self.index(scope, array)}]);"]
        if self.random.random() < 0.3:
            return [f"h = mix(h, deep_{name}({array.name}, 0, {array.length}, h));"]
        return ["{"] + indented([
            f"{array.type.c} *{pointer} = find_{name}({array.name}, {array.count()}, {self.number(scope, 1)});",
            *self.use(scope, pointer, array.type)]) + ["}"]

    def link(self, scope):
        """A chain through elements, a part of which is followed."""
        array = self.some(scope, lambda array: array.isStable and any(
            each.target is array.type for each in pointersOf(array.type)))
        if not array or scope.times * 100 > self.mostTimes:
            return None
        each = self.random.choice([each for each in pointersOf(array.type) if each.target is array.type])
        turn, at, left, type = self.fresh("i"), self.fresh("p"), self.fresh("w"), array.type.c
        part = self.part(array.type)
        lines = []
        if self.random.random() < 0.7:
            stride = self.random.choice([1, 3, 7, 31])
            lines += [f"for (u64 {turn} = 0; {turn} < {array.count()}; {turn}++)",
                      f"  {array.name}[{turn}].{each.pointer()} = {turn} % 13 == 12 ? 0 : "
                      f"&{array.name}[({turn} * {stride} + 1) % {array.count()}];"]
        if not part:
            return lines
        suffix, scalar = part
        head = f"{type} *{at} = &{array.name}[{self.index(scope, array)}];"
        return lines + ["{", "  " + head, f"  u64 {left} = 60;", f"  while ({at} && {left}-- > 0) {{",
                        f"    h = mix(h, {scalar.read(at + '->' + suffix[1:])});",
                        f"    {at} = {at}->{each.pointer()};", "  }", "}"]

    def search(self, scope):
        """Stops at an element; the pointer is then compared, and subtracted from."""
        array = self.some(scope)
        if not array or scope.times * 200 > self.mostTimes:
            return None
        found, turn = self.fresh("p"), self.fresh("i")
        place = self.leaf(scope.inner(turns={turn: array.length}), array, 0)
        if not place:
            return None
        return ["{", f"  {array.type.c} *{found} = 0;",
                f"  for (u64 {turn} = 0; {turn} < {array.length}; {turn}++)",
                f"    if ({place[1].read(place[0])} % 7 == {self.random.randint(0, 6)}) {{",
                f"      {found} = {array.name} + {turn};", "      break;", "    }",
                f"  h = mix(h, {found} ? (u64)({found} - {array.name}) : 99);", "}"]

    def compare(self, scope):
        array = self.some(scope)
        if not array:
            return None
        one, other = (f"({array.name} + {self.index(scope, array)})" for _ in range(2))
        operator = self.random.choice(["<", "==", ">=", "!="])
        return [self.random.choice([f"h = mix(h, {one} {operator} {other});", f"h = mix(h, (u64)({one} - {other}));",
                                    f"h = mix(h, ((uintptr_t){one} & 7) == ((uintptr_t){other} & 7));",
                                    f"h = mix(h, ((uintptr_t){one} - (uintptr_t){other}));",
                                    f"h = mix(h, !{one});"])]

    def moved(self, scope):
        """Addresses that are computed with as numbers."""
        array = self.some(scope, lambda array: isinstance(array.type, Scalar) and not array.type.isFloat)
        other = self.some(scope)
        if not array:
            return None
        pointer, type, name = self.fresh("p"), array.type.c, array.name
        number, element = f"u{pointer}", f"(uintptr_t)&{name}[{self.index(scope, array)}]"
        made = [f"{type} *{pointer} = ({type} *){number};", f"h = mix(h, {array.type.read('*' + pointer)});"]
        base = f"(uintptr_t)&{other.name}[{self.index(scope, other)}]"
        turns = (f"for (uintptr_t {number} = (uintptr_t){name}, end = {number} + {array.length} * sizeof *{name}; "
                 f"{number} < end; {number} += sizeof *{name})")
        return ["{"] + indented(self.random.choice([
            [f"const uintptr_t {number} = (uintptr_t){name} + (u64)({self.index(scope, array)}) * sizeof *{name};", *made],
            [f"const uintptr_t far = {element} - (uintptr_t){name}, {number} = (uintptr_t){name} + far;", *made],
            [f"const uintptr_t base = {base}, far = {element} - base, {number} = base + far;", *made],
            [turns, f"  h = mix(h, {array.type.read(f'*({type} *){number}')});"],
        ])) + ["}"]

    # Bytes.

    def fill(self, scope):
        array = self.some(scope)
        if not array:
            return None
        byte = self.random.choice(["0", "0x3f", "(int)(h & 255)"]) if takesAnyBytes(array.type) else "0"
        start, count = self.fresh("o"), self.fresh("c")
        return ["{", f"  const u64 {start} = {self.index(scope, array)};",
                f"  const u64 {count} = {self.number(scope, 1)} % ({array.count()} - {start} + 1);",
                f"  memset({array.name} + {start}, {byte}, {count} * sizeof *{array.name});", "}"]

    def copy(self, scope):
        to = self.some(scope)
        source = to and self.some(scope, lambda array: array.type is to.type)
        if not to:
            return None
        start, other, count = self.fresh("o"), self.fresh("o"), self.fresh("c")
        limit = f"{count} % (smaller({to.count()} - {start}, {source.count()} - {other}) + 1)"
        way = "memmove" if to is source or self.random.random() < 0.3 or not self.areApart else "memcpy"
        return ["{", f"  const u64 {start} = {self.index(scope, to)}, {other} = {self.index(scope, source)};",
                f"  u64 {count} = {self.number(scope, 1)};", f"  {count} = {limit};",
                f"  {way}({to.name} + {start}, {source.name} + {other}, {count} * sizeof *{to.name});", "}"]

    def bytes(self, scope):
        """What is in an element, byte by byte."""
        array = self.some(scope, lambda array: isinstance(array.type, Scalar) and array.type.c != "long double" and (
            scope.times * 40 <= self.mostTimes))
        if not array:
            return None
        at, turn = self.fresh("b"), self.fresh("i")
        kind = "const unsigned char"
        return ["{", f"  {kind} *{at} = ({kind} *)({array.name} + {self.index(scope, array)});",
                f"  for (unsigned {turn} = 0; {turn} < sizeof *{array.name}; {turn}++) h = mix(h, {at}[{turn}]);", "}"]

    def library(self, scope):
        """What functions of the C library find in an array, or make of it."""
        array = self.some(scope, lambda array: isinstance(array.type, Scalar) and array.type.c != "long double" and (
            scope.times * 20 <= self.mostTimes))
        if not array:
            return None
        other = self.some(scope, lambda other: other.type is array.type)
        at, there, room, left = (self.fresh(prefix) for prefix in "otrl")
        kind = "const char"
        byte = self.random.choice(["0", "1", "(int)(h & 255)"])
        ways = [f"h = mix(h, memcmp({array.name} + {at}, {other.name} + {there}, smaller({room}, {left})) > 0);",
                f"h = mix(h, memcmp({array.name} + {at}, {array.name}, {room} / 2) != 0);",
                f"{kind} *found = ({kind} *)memchr({array.name} + {at}, {byte}, {room}); "
                f"h = mix(h, found ? found - ({kind} *){array.name} : 7);",
                f"h = mix(h, strnlen(({kind} *)({array.name} + {at}), {room}));",
                f"h = mix(h, strncmp(({kind} *)({array.name} + {at}), ({kind} *)({other.name} + {there}), "
                f"smaller({room}, {left})) < 0);"]
        if takesAnyBytes(array.type):
            ways += [f"qsort({array.name} + {at}, smaller({room} / sizeof *{array.name}, 200), sizeof *{array.name}, by_byte);",
                     f"h = mix(h, snprintf((char *)({array.name} + {at}), {room}, \"%lx-%s\", h, \"some text\"));",
                     f"if ({room} > 20) h = mix(h, *strncpy((char *)({array.name} + {at}), \"a text of its own\", {room} / 2));",
                     f"if ({room} > 20) {{ snprintf((char *)({array.name} + {at}), 20, \"%lu\", h); "
                     f"h = mix(h, strlen(({kind} *)({array.name} + {at}))); "
                     f"h = mix(h, strtoul(({kind} *)({array.name} + {at}), 0, 10)); "
                     f"printf(\"%s\\n\", ({kind} *)({array.name} + {at})); }}",
                     self.copyText(f"(char *)({array.name} + {at})", room)]
            if other is not array:
                ways += [f"if ({room} > 20 && {left} > 20) {{ snprintf((char *)({array.name} + {at}), 20, \"%lu\", h); "
                         f"h = mix(h, *(stpcpy((char *)({other.name} + {there}), ({kind} *)({array.name} + {at})) - 1)); }}"]
        return ["{", f"  const u64 {at} = {self.index(scope, array)}, {there} = {self.index(scope, other)};",
                f"  const u64 {room} = ({array.count()} - {at}) * sizeof *{array.name};",
                f"  const u64 {left} = ({other.count()} - {there}) * sizeof *{other.name};", f"  (void){left};",
                *(["  WATCHED(h);"] if self.random.random() < 0.3 else []), f"  {self.random.choice(ways)}", "}"]

    def copyText(self, text, room):
        """A number as a text of at most 20 bytes, which is copied, appended to, printed and read."""
        return (f"if ({room} > 80) {{ char *text = {text}; long number = 0; snprintf(text, 20, \"%lu\", h); "
                "h = mix(h, *(stpcpy(text + 21, text) - 1)); h = mix(h, strlen(strcat(text + 21, text))); "
                "h = mix(h, *((char *)mempcpy(text + 62, text + 21, 15) - 1)); "
                "h = mix(h, sscanf(text, \"%4ld\", &number)); h = mix(h, number); "
                "printf(\"%.*s\\n\", (int)(h & 31) - 4, text); "
                "printf(\"%s %s %.*s %s\\n\", text, text + 21, (int)(h & 15), text + 1, text + 22); }")

    def overwrite(self, scope):
        """A number goes into an array of bytes, and out of it, at any place."""
        array = self.some(scope, lambda array: takesAnyBytes(array.type))
        if not array:
            return None
        value, at = self.fresh("v"), self.fresh("o")
        type = self.random.choice(["u64", "unsigned", "unsigned short"])
        room = f"({array.count()} * sizeof *{array.name})"
        return ["{", f"  {type} {value} = ({type}){self.number(scope, 1)};",
                f"  if ({room} >= sizeof {value}) {{",
                f"    const u64 {at} = {self.number(scope, 1)} % ({room} - sizeof {value} + 1);",
                f"    memcpy((char *){array.name} + {at}, &{value}, sizeof {value});",
                f"    memcpy(&{value}, (char *){array.name} + {at} / 2, sizeof {value});",
                f"    h = mix(h, {value});" if isinstance(array.type, Scalar) else "    h++;", "  }", "}"]

    def copyElement(self, scope):
        array = self.some(scope, lambda array: isinstance(array.type, Struct))
        if not array:
            return None
        copied = self.fresh("t")
        other = self.some(scope, lambda to: to.type is array.type)
        lines = [f"{array.type.c} {copied} = {array.name}[{self.index(scope, array)}];"]
        if part := self.part(array.type):
            suffix, scalar = part
            lines += [self.assignment(scope, copied + suffix, scalar, 1), f"h = mix(h, {scalar.read(copied + suffix)});"]
        if other:
            lines += [f"{other.name}[{self.index(scope, other)}] = {copied};"]
        return ["{"] + indented(lines) + ["}"]

    def swap(self, scope):
        array = self.some(scope)
        if not array:
            return None
        one, other, kept = self.index(scope, array), self.index(scope, array), self.fresh("t")
        return ["{", f"  const u64 x{kept} = {one}, y{kept} = {other};",
                f"  {array.type.c} {kept} = {array.name}[x{kept}];",
                f"  {array.name}[x{kept}] = {array.name}[y{kept}];", f"  {array.name}[y{kept}] = {kept};", "}"]

    # What leaves the function.

    def call(self, scope):
        if not self.helpers:
            return None
        helper = self.random.choice(self.helpers)
        if scope.times * helper.times > self.mostTimes:
            return None
        given = []
        for parameter in helper.arrays:
            # All of a helper's arrays have one length.
            array = self.some(scope, lambda array: array.type is parameter.type and (
                array.times >= parameter.times) and array.more >= parameter.more and (
                not given or array.length == given[0].length) and not (helper.isRestrict and array in given))
            if not array:
                return None
            given.append(array)
        names = "".join(array.name + ", " for array in given)
        return [f"h = mix(h, {helper.name}({names}(u64){given[0].length}, {self.number(scope, 1)}));"]

    def escape(self, scope):
        """Pointers go to what the compiler cannot follow."""
        array = self.some(scope, lambda array: isinstance(array.type, Scalar) and not array.type.isFloat)
        if not array:
            return None
        pointer, type = self.fresh("p"), array.type.c
        element = f"&{array.name}[{self.index(scope, array)}]"
        read = f"h = mix(h, {array.type.read('*' + pointer)});"
        return ["{"] + indented(self.random.choice([
            [f"known = {element};", f"{type} *{pointer} = ({type} *)known;", read],
            [f"uintptr_t u{pointer} = (uintptr_t){element} ^ 5;", f"{type} *{pointer} = ({type} *)(u{pointer} ^ 5);", read],
            [f"{type} *{pointer} = ({type} *)through({element});", read],
            [f"{type} *{pointer} = ({type} *)various(1, {element});", read],
            [f"{type} *{pointer} = {element};", f"__asm__ volatile(\"\" : \"+r\"({pointer}) : : \"memory\");", read],
            [f"volatile {type} *{pointer} = {element};", f"*{pointer} = {array.type.write('1ul')};", read],
            [f"h = mix(h, (u64)memcmp({array.name}, {array.name}, sizeof *{array.name}));"],
        ])) + ["}"]
