"""Types of the programs' data, and how C reads and writes what is in them as unsigned 64-bit numbers."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Scalar:
    c: str
    #: A number is read with this, which takes it to u64.
    reading: str = "(u64)({})"
    #: What a u64 is made to before it is stored.
    writing: str = "({c})({e})"
    isFloat: bool = False

    def read(self, lvalue):
        return self.reading.format(lvalue)

    def write(self, expression):
        return self.writing.format(c=self.c, e=expression)


_float = "({c})(({e}) % 4093) * ({c})0.25"
SCALARS = [
    Scalar("unsigned char"),
    Scalar("signed char"),
    Scalar("unsigned short"),
    Scalar("short"),
    Scalar("unsigned"),
    Scalar("int"),
    Scalar("unsigned long"),
    Scalar("long"),
    Scalar("unsigned long long"),
    Scalar("_Bool", writing="(({e}) & 1) != 0"),
    Scalar("unsigned __int128", "fold({})", "({c})({e}) << 37 ^ ({e})"),
    Scalar("float", "bits_of((double)({}))", _float, True),
    Scalar("double", "bits_of({})", _float, True),
    Scalar("long double", "bits_of((double)({}))", _float, True),
    Scalar("_Complex double", "(bits_of(__real__ ({0})) + bits_of(__imag__ ({0})))", _float, True),
    Scalar("four", "((u64)({0})[0] * 3 + ({0})[1] * 5 + ({0})[2] * 7 + ({0})[3])",
           "({c}){{(unsigned)({e}), (unsigned)(({e}) >> 5), 3, (unsigned)(({e}) >> 32)}}"),
]
U64, INT, UINT, CHAR = SCALARS[6], SCALARS[5], SCALARS[4], SCALARS[0]
#: What programs are mostly made of.
USUAL = [SCALARS[0], SCALARS[4], SCALARS[5], SCALARS[6], SCALARS[7], SCALARS[12]]


@dataclass(eq=False)
class Field:
    name: str
    #: Text between which the name stands.
    before: str
    after: str = ""
    #: Ways into it: what follows the name, and the scalar there.
    leaves: list = field(default_factory=list)
    hasAddress: bool = True
    #: The Type that it points to, or None.
    target: object = None
    #: What follows the name to come to a pointer.
    element: str = ""

    def pointer(self):
        return self.name + self.element


@dataclass(eq=False)
class Struct:
    c: str
    fields: list
    isPacked: bool = False

    def leaves(self, addressable=False):
        """What follows the element, the scalar there, and nothing that is behind pointers."""
        for each in self.fields:
            if addressable and (self.isPacked or not each.hasAddress):
                continue
            for suffix, scalar in each.leaves:
                yield "." + each.name + suffix, scalar

    def pointers(self):
        return [each for each in self.fields if each.target is not None]

    def declaration(self):
        lines = "".join(f"  {each.before}{each.name}{each.after};\n" for each in self.fields)
        return f"{self.c} {{\n{lines}}}{' __attribute__((packed))' if self.isPacked else ''};\n"


def takesAnyBytes(type):
    """Whether all that can be written into it byte by byte is a value."""
    scalars = [type] if isinstance(type, Scalar) else [scalar for _, scalar in type.leaves()]
    return not any(scalar.isFloat or scalar.c == "_Bool" for scalar in scalars) and not pointersOf(type)


def pointersOf(type):
    return type.pointers() if isinstance(type, Struct) else []


def someScalar(random):
    return random.choice(USUAL if random.random() < 0.7 else SCALARS)


def someStruct(random, number, others):
    """A struct of some fields; `others` are types that it may hold or point to."""
    made = Struct(f"struct s{number}", [], random.random() < 0.15)
    for index in range(random.randint(2, 6)):
        made.fields.append(_someField(random, f"f{index}", made, others))
    if not any(each.leaves for each in made.fields):
        made.fields.append(Field("last", "unsigned long ", "", [("", U64)]))
    return made


def _someField(random, name, made, others):
    kind = random.random()
    structs = [each for each in others if isinstance(each, Struct)]
    if kind < 0.45:
        scalar = someScalar(random)
        return Field(name, scalar.c + " ", "", [("", scalar)])
    if kind < 0.6:
        scalar, count = someScalar(random), random.choice([1, 2, 3, 4, 5, 8, 17, 40])
        return Field(name, scalar.c + " ", f"[{count}]", [(f"[{i}]", scalar) for i in {0, count // 2, count - 1}])
    if kind < 0.67:
        width = random.randint(1, 31)
        return Field(name, "unsigned ", f" : {width}", [("", UINT)], hasAddress=False)
    if kind < 0.74:
        return Field(name, "union { unsigned w; unsigned short h[2]; unsigned char b[4]; } ", "",
                     [(".w", UINT), (".b[1]", CHAR), (".h[1]", SCALARS[2])], hasAddress=False)
    if kind < 0.82 and structs:
        inner = random.choice(structs)
        return Field(name, inner.c + " ", "", list(inner.leaves()), hasAddress=False)
    target = made if kind < 0.92 or not others else random.choice(others)
    if random.random() < 0.2:
        return Field(name, target.c + " *", "[3]", target=target, element=random.choice(["[0]", "[2]"]))
    return Field(name, target.c + " *", target=target)
