"""Functions of a shape of their own: that jump out of others, and that threads run."""


def leaping(name, array, read, write, random):
    """A function that another one jumps back to, past what is between. What it has is not changed on the way."""
    c, part = array
    every = random.choice([3, 50, 1000])
    return f"""\
static jmp_buf place_{name};
static __attribute__((noinline)) void leap_{name}({c} *a, u64 n, u64 h) {{
  for (u64 i = 0; i < n; i++) {{
    a[i]{part} = {write(f"{read('a[i]' + part)} + h * {random.randint(1, 9)}")};
    h = mix(h, {read('a[i]' + part)});
    if (h % {every} == 0) longjmp(place_{name}, 1 + (int)(h / {every} % 3));
  }}
}}
""", [f"volatile u64 got = h;", f"switch (setjmp(place_{name})) {{", f"case 0:", f"  leap_{name}(a, n, h);",
      "  got = mix(got, 1);", "  break;", "case 1:", f"  got = mix(got, {read('a[n - 1]' + part)});", "  break;",
      "default:", f"  got = mix(got, {read('a[0]' + part)});", "}", "return got;"]


def threads(name, number, c, parts, random):
    """Threads that work on parts of an array, each on its own. It is in a variable, so that it is known where it goes."""
    many, lines = random.choice([2, 3, 5]), []
    for suffix, scalar in parts:
        lvalue = "a[i]" + suffix
        lines += [random.choice([f"h = mix(h, {scalar.read(lvalue)});",
                                 f"{lvalue} = {scalar.write(f'h + i * {random.randint(1, 99)}')};",
                                 f"if ((h ^ i) & {random.choice([1, 6])}) {lvalue} = {scalar.write('i')};"])]
    inside = "\n".join("      " + line for line in lines)
    times = random.choice([1, 3])
    before = f"""\
static {c} *array_{name};
static u64 count_{name}, sums_{name}[{many}];
static void *work_{name}(void *which) {{
  const u64 k = (u64)(uintptr_t)which;
  {c} *a = array_{name};
  u64 h = k;
  for (int turn = 0; turn < {times}; turn++)
    for (u64 i = count_{name} * k / {many}; i < count_{name} * (k + 1) / {many}; i++) {{
{inside}
    }}
  sums_{name}[k] = h;
  return 0;
}}
"""
    suffix, scalar = parts[0]
    lines = [f"pthread_t threads[{many}];", f"count_{name} = {random.choice([1, 40, 700])} + size % 3;",
             f"array_{name} = make_{number}(count_{name});", f"init_{number}(array_{name}, 0, count_{name}, 7);",
             f"for (u64 k = 0; k < {many}; k++)",
             f"  if (pthread_create(&threads[k], 0, work_{name}, (void *)(uintptr_t)k)) exit(99);",
             f"for (u64 k = 0; k < {many}; k++) {{", "  pthread_join(threads[k], 0);",
             f"  h = mix(h, sums_{name}[k]);", "}",
             f"for (u64 i = 0; i < count_{name}; i++) h = mix(h, {scalar.read(f'array_{name}[i]' + suffix)});",
             f"free(array_{name});", "return h;"]
    return before, lines
