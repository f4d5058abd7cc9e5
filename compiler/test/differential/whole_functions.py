"""Functions of a shape of their own: that jump out of others, and that threads run, on common data or on their own."""


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


def elements(parts, random):
    """What is done with an element of an array."""
    lines = []
    for suffix, scalar in parts:
        lvalue = "a[i]" + suffix
        lines += [random.choice([f"h = mix(h, {scalar.read(lvalue)});",
                                 f"{lvalue} = {scalar.write(f'h + i * {random.randint(1, 99)}')};",
                                 f"if ((h ^ i) & {random.choice([1, 6])}) {lvalue} = {scalar.write('i')};"])]
    return "\n".join("      " + line for line in lines)


def threads(name, number, c, parts, random):
    """Threads that work on parts of an array, each on its own. It is in a variable, so that it is known where it goes."""
    many = random.choice([2, 3, 5])
    inside = elements(parts, random)
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


def owners(name, c, parts, site, random):
    """Threads that each make an array of their own, and a list; main does, too. Each finds them by variables of its own."""
    many, suffix, scalar = random.choice([2, 5, 12]), *parts[0]
    ends = [random.choice([f"free(mine_{name});", ""]), random.choice(["pthread_exit(0);", "if (k & 1) pthread_exit(0);", ""])]
    before = f"""\
struct link_{name} {{
  struct link_{name} *next;
  u64 value;
}};
static __thread {c} *mine_{name};
static __thread struct link_{name} *list_{name};
static u64 sums_{name}[{many + 1}];
static __attribute__((noinline)) void make_{name}(u64 count) {{
  mine_{name} = ({c} *)calloc(count, sizeof({c})); {site(f"make_{name}")}
}}
static {random.choice(['', '__attribute__((noinline)) '])}void push_{name}(u64 value) {{
  struct link_{name} *made = (struct link_{name} *)malloc(sizeof *made); {site(f"push_{name}")}
  made->next = list_{name};
  made->value = value;
  list_{name} = made;
}}
static u64 use_{name}(u64 k, u64 count) {{
  u64 h = k;
  make_{name}(count);
  {c} *a = mine_{name};
  for (int turn = 0; turn < {random.choice([1, 3])}; turn++)
    for (u64 i = 0; i < count; i++) {{
{elements(parts, random)}
      if ((h ^ i) % {random.choice([3, 17, 100])} == 0) push_{name}(i);
    }}
  for (u64 i = count; i-- > 0;) h = mix(h, {scalar.read(f'mine_{name}[i]' + suffix)});
  for (struct link_{name} *at = list_{name}; at; at = at->next) h = mix(h, at->value);
  return h;
}}
static void *work_{name}(void *which) {{
  const u64 k = (u64)(uintptr_t)which;
  sums_{name}[k] = use_{name}(k, k * {random.choice([1, 40, 300])} + 1);
  {" ".join(ends)}
  return 0;
}}
"""
    lines = [f"pthread_t threads[{many}];", f"for (u64 k = 0; k < {many}; k++)",
             f"  if (pthread_create(&threads[k], 0, work_{name}, (void *)(uintptr_t)k)) exit(99);",
             f"sums_{name}[{many}] = use_{name}(size, size % 100 + 7);", f"free(mine_{name});",
             f"for (u64 k = 0; k < {many}; k++) pthread_join(threads[k], 0);",
             f"for (u64 k = 0; k <= {many}; k++) h = mix(h, sums_{name}[k]);", "return h;"]
    return before, lines
