"""Programs in one file that can also be compiled as several units: unit N is what is compiled with -DUNIT=N."""

import re

#: How functions and variables are declared: of one unit they are its own; of several, each is known to all.
PRELUDE = """\
#ifdef UNIT
#define SHARED
#if UNIT == 1
#define VARIABLE
#else
#define VARIABLE extern
#endif
#else
#define SHARED static
#define VARIABLE static
#endif
"""


def divided(parts, count, random):
    """The parts of a program, each function of which is in one of so many units."""
    return PRELUDE + "\n".join(divide(part, count, random) for part in parts)


def divide(part, count, random):
    head, brace, _ = part.partition(" {\n")
    if not brace or not re.match(r"[\w \*()]+\(.*\)$", head):
        return re.sub(r"^static (?=.*;$)", "VARIABLE ", part, flags=re.M) if part.startswith("static ") else part
    unit = 1 if " main(" in head else random.randint(1, count)
    shared = re.sub(r"^static ", "SHARED ", head)
    definition = shared + part[len(head):]
    return f"{shared};\n#if !defined UNIT || UNIT == {unit}\n{definition}#endif\n"
