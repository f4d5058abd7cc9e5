"""Expressions of the programs. All are unsigned 64-bit numbers, whose arithmetic is always defined."""

from dataclasses import dataclass, field

from types_of_data import Scalar


@dataclass
class Array:
    """`times * length + more` elements at a pointer; `length` is a variable that is at least 1."""

    name: str
    type: object
    length: str
    times: int = 1
    more: int = 0
    #: It neither moves nor goes while there are elements that point to it.
    isStable: bool = False
    isOnStack: bool = False

    def count(self):
        return f"({self.times} * (u64){self.length} + {self.more})"


@dataclass
class Scope:
    """What a statement can use."""

    arrays: list
    numbers: list = field(default_factory=lambda: ["h"])
    #: Loop variables, each less than the length that it has here.
    turns: dict = field(default_factory=dict)
    #: How many times a statement here is done, about.
    times: int = 1
    #: What is in the place of a return from here.
    back: str = "return h;"
    inLoop: bool = False
    depth: int = 0

    def inner(self, **changes):
        made = Scope(list(self.arrays), list(self.numbers), dict(self.turns), self.times, self.back, self.inLoop,
                     self.depth + 1)
        for key, value in changes.items():
            setattr(made, key, value)
        return made


class Expressions:
    def __init__(self, random):
        self.random = random

    def index(self, scope, array, depth=1):
        """Of an element that is there."""
        random = self.random
        near = [turn for turn, length in scope.turns.items() if length == array.length]
        if near and random.random() < 0.75:
            turn, step = random.choice(near), random.randint(1, array.times)
            offset = random.randint(0, step + array.more - 1)
            at = turn if random.random() < 0.75 else f"({array.length} - 1 - {turn})"
            return at if (step, offset) == (1, 0) else f"{at} * {step} + {offset}"
        kind = random.random()
        if kind < 0.2:
            return random.choice(["0", f"{array.count()} - 1"])
        return f"({self.number(scope, depth - 1)}) % {array.count()}"

    def part(self, type, addressable=False):
        """What follows an element to come to a scalar in it, and the scalar; nothing if it has none."""
        if isinstance(type, Scalar):
            return "", type
        leaves = list(type.leaves(addressable))
        return self.random.choice(leaves) if leaves else None

    def leaf(self, scope, array, depth=1, addressable=False):
        """An lvalue in an array, and its scalar; nothing if it has none."""
        part = self.part(array.type, addressable)
        if not part:
            return None
        at = self.index(scope, array, depth)
        element = f"{array.name}[{at}]" if self.random.random() < 0.85 else f"(*({array.name} + ({at})))"
        return element + part[0], part[1]

    def number(self, scope, depth=2):
        random = self.random
        kind = random.random()
        if depth <= 0 or kind < 0.25:
            return self.simple(scope)
        if kind < 0.6 and scope.arrays:
            place = self.leaf(scope, random.choice(scope.arrays), depth)
            return place[1].read(place[0]) if place else self.simple(scope)
        left, right = self.number(scope, depth - 1), self.number(scope, depth - 1)
        if kind < 0.85:
            return f"({left} {random.choice(['+', '-', '*', '^', '&', '|'])} {right})"
        if kind < 0.9:
            return f"({left} {random.choice(['<<', '>>'])} {random.randint(1, 63)})"
        if kind < 0.95:
            return f"({left} % {random.randint(2, 1000)}u)"
        return f"({self.condition(scope, depth - 1)} ? {left} : {right})"

    def simple(self, scope):
        random = self.random
        choices = scope.numbers + list(scope.turns)
        if random.random() < 0.7:
            return f"(u64){random.choice(choices)}"
        return f"{random.choice([0, 1, 2, 3, 7, 63, 255, 4096, random.getrandbits(31), random.getrandbits(63)])}ul"

    def unforeseen(self, scope, depth=2):
        """A number that clang does not know: of code that is never come to it makes nothing, and sites in it are not there."""
        return f"({self.number(scope, depth)} ^ h)"

    def condition(self, scope, depth=1):
        random = self.random
        left, right = self.unforeseen(scope, depth), self.number(scope, depth)
        if random.random() < 0.5:
            return f"({left} {random.choice(['<', '>=', '==', '!='])} {right})"
        return f"(({left} & {random.choice([1, 3, 4, 8])}) {random.choice(['==', '!='])} 0)"

    def assignment(self, scope, lvalue, scalar, depth=2):
        random, value = self.random, self.number(scope, depth)
        if scalar.isFloat:
            # What is added up stays finite, whatever the order.
            if random.random() < 0.5:
                return f"{lvalue} = {lvalue} * ({scalar.c})0.5 + {scalar.write(value)};"
            return f"{lvalue} = {scalar.write(value)};"
        kind = random.random()
        if kind < 0.5 or scalar.c == "_Bool":
            return f"{lvalue} = {scalar.write(value)};"
        if kind < 0.65:
            return f"{lvalue} = {scalar.write(f'{scalar.read(lvalue)} + 1')};"
        operator = random.choice(["+", "-", "^", "*", "|"])
        return f"{lvalue} = {scalar.write(f'{scalar.read(lvalue)} {operator} {value}')};"
