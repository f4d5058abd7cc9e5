"""Functions of a shape of their own: that jump out of others, and that threads run, on common data, on their own,
or on what main makes."""


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


def readers(name, c, part, site, random):
    """Threads that read an array and a list, which main makes, and changes while they wait."""
    many, phases, (suffix, scalar) = random.choice([1, 2, 4]), random.choice([1, 2, 4]), part
    element = scalar.read("a[i]" + suffix)
    waits = random.choice(["pthread_barrier_wait(&barrier_{0});",
                           "while (__atomic_load_n(&turn_{0}, __ATOMIC_ACQUIRE) <= phase);",
                           "pthread_mutex_lock(&mutex_{0}); "
                           "while (turn_{0} <= phase) pthread_cond_wait(&turned_{0}, &mutex_{0}); "
                           "pthread_mutex_unlock(&mutex_{0});"]).format(name)
    tells = ("pthread_barrier_wait(&barrier_{0});" if "barrier" in waits else
             "__atomic_store_n(&turn_{0}, phase + 1, __ATOMIC_RELEASE);" if "atomic" in waits else
             "pthread_mutex_lock(&mutex_{0}); turn_{0} = phase + 1; pthread_cond_broadcast(&turned_{0}); "
             "pthread_mutex_unlock(&mutex_{0});").format(name)
    anew = random.choice(["", f"free(array_{name}); make_{name}(count_{name} + by % 50);"])
    before = f"""\
struct item_{name} {{
  struct item_{name} *next;
  u64 value;
}};
static {c} *array_{name};
static struct item_{name} *list_{name};
static u64 count_{name}, turn_{name}, sums_{name}[{many}];
static pthread_barrier_t barrier_{name};
static pthread_mutex_t mutex_{name} = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned_{name} = PTHREAD_COND_INITIALIZER;
static __attribute__((noinline)) void make_{name}(u64 count) {{
  count_{name} = count;
  array_{name} = ({c} *)calloc(count, sizeof({c})); {site(f"make_{name}")}
}}
static {random.choice(['', '__attribute__((noinline)) '])}void push_{name}(u64 value) {{
  struct item_{name} *made = (struct item_{name} *)malloc(sizeof *made); {site(f"push_{name}")}
  made->next = list_{name};
  made->value = value;
  list_{name} = made;
}}
static __attribute__((noinline)) void change_{name}(u64 by) {{
  {anew}
  {c} *a = array_{name};
  for (u64 i = 0; i < count_{name}; i += {random.choice([1, 1, 3, 40])}) a[i]{suffix} = {scalar.write("by + i * 7")};
  for (struct item_{name} *at = list_{name}; at; at = at->next) at->value = mix(at->value, by);
  struct item_{name} *first = list_{name};
  if (first) {{ list_{name} = first->next; free(first); }}
  for (u64 i = 0; i < {random.choice([1, 30])}; i++) push_{name}(by * i);
}}
static {random.choice(['', '__attribute__((noinline)) '])}u64 read_{name}(u64 h) {{
  {c} *a = array_{name};
  const u64 count = count_{name};
  for (u64 i = 0; i < count; i++) h = mix(h, {element});
  for (u64 i = count; i-- > 0;) if ((h ^ i) % 3) h += {element};
  for (u64 k = 0; k < {random.choice([5, 100])}; k++) {{ const u64 i = (h >> 9) % count; h = mix(h, {element}); }}
  for (struct item_{name} *at = list_{name}; at; at = at->next) h = mix(h, at->value);
  return h;
}}
static void *work_{name}(void *which) {{
  const u64 k = (u64)(uintptr_t)which;
  u64 h = k;
  for (u64 phase = 0; phase < {phases}; phase++) {{
    {waits}
    h = read_{name}(h);
    pthread_barrier_wait(&barrier_{name});
  }}
  sums_{name}[k] = h;
  return 0;
}}
"""
    lines = [f"pthread_t threads[{many}];", f"turn_{name} = 0;", f"pthread_barrier_init(&barrier_{name}, 0, {many + 1});",
             f"make_{name}({random.choice([1, 40, 700])} + size % 9);", f"push_{name}(h);",
             f"for (u64 k = 0; k < {many}; k++)",
             f"  if (pthread_create(&threads[k], 0, work_{name}, (void *)(uintptr_t)k)) exit(99);",
             f"for (u64 phase = 0; phase < {phases}; phase++) {{", f"  change_{name}(h + phase);", f"  {tells}",
             f"  h = read_{name}(h);", f"  pthread_barrier_wait(&barrier_{name});", "}",
             f"for (u64 k = 0; k < {many}; k++) {{", "  pthread_join(threads[k], 0);",
             f"  h = mix(h, sums_{name}[k]);", "}", f"free(array_{name});", f"while (list_{name}) {{", f"  struct item_{name} *next = list_{name}->next;",
             f"  free(list_{name});", f"  list_{name} = next;", "}", "return h;"]
    return before, lines
