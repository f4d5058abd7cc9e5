/* How a profile begins, and what the compiler enters. */

/* Only the program writes a profile, not the libraries that are compiled as it is: whether this is in the program. */
static int is_program(void) {
    const Elf64_Phdr *parts = (const Elf64_Phdr *)getauxval(AT_PHDR), *part;
    const Elf64_Phdr *end = parts ? parts + getauxval(AT_PHNUM) : 0;
    const uint64_t here = (uint64_t)(uintptr_t)&state;
    uint64_t moved = 0;
    for (part = parts; part != end; part++)
        if (part->p_type == PT_PHDR) moved = (uint64_t)(uintptr_t)parts - part->p_vaddr;
    for (part = parts; part != end; part++)
        if (part->p_type == PT_LOAD && here - moved - part->p_vaddr < part->p_memsz) return 1;
    return !parts;
}

/* A number in the environment, or what is usual. */
static uint64_t number_in(const char *name, uint64_t usual) {
    const char *text = getenv(name);
    char *end;
    const uint64_t number = text ? strtoull(text, &end, 10) : 0;
    return text && *text && !*end ? number : usual;
}

/* A child does not write what its parent did. */
HIDDEN void farside_profile_child_(void) { farside_profile_on_ = 0; }

/* The program may go elsewhere before it ends. */
static int keep_path(const char *path) {
    size_t length = 0;
    if (*path != '/') {
        if (!getcwd(state.path, sizeof state.path)) return 0;
        length = strlen(state.path);
        if (length + 1 < sizeof state.path) state.path[length++] = '/';
    }
    if (length + strlen(path) + 1 > sizeof state.path) return 0;
    strcpy(state.path + length, path);
    snprintf(state.trace, sizeof state.trace, "%s.trace.%ld", state.path, (long)state.pid);
    return 1;
}

static void start(void) {
    const char *path = getenv("FARSIDE_PROFILE");
    uint32_t shift = 0;
    if (state.started) return;
    state.started = 1;
    if (!path || !*path || !is_program()) return;
    state.pid = getpid();
    if (!keep_path(path)) {
        complain(path, ENAMETOOLONG);
        return;
    }
    state.rate = number_in("FARSIDE_PROFILE_RATE", 16);
    while (shift < 63 && (uint64_t)1 << (shift + 1) <= state.rate) shift++;
    state.rate = (uint64_t)1 << shift;
    farside_profile_mask_ = state.rate - 1;
    farside_profile_chosen_ = state.rate / 4;
    state.most = number_in("FARSIDE_PROFILE_MOST", (uint64_t)256 << 20) & ~(uint64_t)7;
    if (pthread_key_create(&state.thread_key, free_thread)) return;
    pthread_atfork(0, 0, farside_profile_child_);
    state.shortest = shortest_ticks() * LAST_CALLS;
    state.nanoseconds = nanoseconds();
    state.ticks = ticks();
    farside_profile_on_ = 1;
}

/* Enters a module, when the program starts. */
HIDDEN void farside_profile_register(struct unit *unit) {
    uint64_t i;
    start();
    unit->next = state.units;
    state.units = unit;
    for (i = 0; i < unit->function_count; i++) unit->functions[i].number = state.function_count++;
}

__attribute__((destructor(101))) static void finish(void) {
    if (state.done || !farside_profile_on_ || state.pid != getpid()) return;
    state.done = 1;
    farside_profile_finish_();
}
