"""What only C++ has: objects with virtual functions and destructors, exceptions, and vectors."""

PRELUDE = """\
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>
#define _Bool bool
#define restrict __restrict
"""


def objects(name, c, part, scalar, site, random):
    """A list of objects of two classes. One of their functions may throw, past frames that have pointers to them."""
    read, write, dotted = scalar.read, scalar.write, part
    part = "->" + part[1:] if part else "[0]"
    every, many = random.choice([2, 7, 60]), random.choice([3, 40, 250])
    catching = random.choice(["const std::runtime_error &", "const std::exception &", "..."])
    declared = f"""\
static u64 gone_{name};
struct base_{name} {{
  base_{name} *next;
  {c} *data;
  u64 value;
  base_{name}(base_{name} *next, {c} *data, u64 value) : next(next), data(data), value(value) {{}}
  virtual u64 step(u64 h) {{
    data{part} = {write(f"{read('data' + part)} + value")};
    return mix(h, value++);
  }}
  virtual ~base_{name}() {{ gone_{name} = mix(gone_{name}, value); }}
}};
struct other_{name} : base_{name} {{
  {c} own;
  other_{name}(base_{name} *next, {c} *data, u64 value) : base_{name}(next, data, value), own(*data) {{}}
  u64 step(u64 h) override {{
    if ((h ^ value) % {every} == 0) throw std::runtime_error("step");
    return mix(base_{name}::step(h), {read('own' + dotted)});
  }}
  ~other_{name}() override {{ gone_{name} += {read('own' + dotted)}; }}
}};
struct guard_{name} {{
  {c} *data;
  u64 &h;
  ~guard_{name}() {{
    h = mix(h, {read('data' + part)});
    data{part} = {write('h')};
  }}
}};
static __attribute__((noinline)) u64 steps_{name}(base_{name} *at, u64 left, u64 h) {{
  for (; at && left > 0; at = at->next, left--) {{
    guard_{name} guard{{at->data, h}};
    h = at->step(h);
  }}
  return h;
}}
static {random.choice(['', '__attribute__((noinline)) '])}u64 deeper_{name}(base_{name} *at, u64 depth, u64 h) {{
  if (!at || depth == 0) return steps_{name}(at, {random.choice([1, 9, 100])}, h);
  guard_{name} guard{{at->data, h}};
  try {{
    return mix(deeper_{name}(at->next, depth - 1, h), 1);
  }} catch (const std::logic_error &) {{
    return 1;
  }}
}}
"""
    number = name.split("_")[-1]
    lines = [f"{c} *data = make_{number}({many});", f"init_{number}(data, 0, {many}, h);", f"base_{name} *first = nullptr;",
             f"for (u64 i = 0; i < {many}; i++)", "  if ((i ^ size) % 3)",
             f"    first = new base_{name}(first, data + i, i); {site()}", "  else",
             f"    first = new other_{name}(first, data + i, i); {site()}",
             f"for (u64 turn = 0; turn < {random.choice([1, 4])}; turn++)", "  try {",
             f"    h = mix(h, deeper_{name}(first, turn * 3, h));", f"  }} catch ({catching}) {{",
             "    h = mix(h, turn);", "  }",
             "while (first) {", f"  base_{name} *next = first->next;", "  delete first;", "  first = next;", "}",
             f"for (u64 i = 0; i < {many}; i++) h = mix(h, {read('data[i]' + dotted)});",
             "free(data);", f"return mix(h, gone_{name});"]
    return declared, lines


def vectors(name, c, part, scalar, site, random):
    """Vectors that grow, are copied, moved, and gone through, and an array of `new`."""
    read, write, count = scalar.read, scalar.write, random.choice([5, 90, 400])
    grow = random.choice([f"std::vector<{c}> all; {site()}", f"std::vector<{c}> all({count} / 2); {site()}"])
    lines = [f"const u64 count = {count} + size % 3;", f"std::unique_ptr<{c}[]> some(new {c}[count]()); {site()}",
             f"for (u64 i = 0; i < count; i++) some[i]{part} = {write('h * 3 + i')};", grow,
             "for (u64 i = 0; i < count; i++)", f"  all.push_back(some[count - 1 - i]); {site()}",
             f"std::vector<{c}> copied = all; {site()}",
             f"for ({c} &each : copied) each{part} = {write(read('each' + part) + ' ^ h')};",
             f"if (h & 1) std::swap(all, copied);", "else all = std::move(copied);",
             f"for (const {c} &each : all) h = mix(h, {read('each' + part)});",
             "try {", f"  h = mix(h, {read('all.at(h % (2 * count))' + part)});",
             "} catch (const std::out_of_range &) {", "  h++;", "}",
             f"for (u64 i = 0; i < count; i++) h = mix(h, {read('some[i]' + part)});", "return h;"]
    return "", lines
