/* What is written when the program ends. */

/* Seconds of a tick; it ends now. */
static double end_ticks(void) {
    const uint64_t time = nanoseconds() - state.nanoseconds;
    state.end = ticks();
    return state.end != state.ticks ? (double)time * 1e-9 / (double)(state.end - state.ticks) : 0;
}

static void write_text(FILE *file, const char *text) {
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fprintf(file, "\\%c", *text);
        else if ((unsigned char)*text < ' ')
            fprintf(file, "\\u%04x", (unsigned)*text);
        else
            fputc(*text, file);
    }
    fputc('"', file);
}

/* Begins one more of a list. */
static void write_comma(FILE *file, int *first) {
    fputs(*first ? "\n  " : ",\n  ", file);
    *first = 0;
}

/* What all threads did, in one of a function's places in their tables. */
static lookups sum_of_lookups(uint64_t row, uint32_t id) {
    lookups sum = {0, 0, 0, 0};
    const struct thread *thread;
    for (thread = state.threads; thread; thread = thread->next)
        if (row <= thread->functions) {
            const lookups *each = &thread->rows[row * MOST_SECTIONS + id];
            sum.reads += each->reads;
            sum.writes += each->writes;
            sum.misses += each->misses;
            sum.miss_ticks += each->miss_ticks;
        }
    return sum;
}

static void write_lookups(FILE *file, const lookups *sum, double tick) {
    fprintf(file, "\"lookups\":%llu,\"misses\":%llu,\"miss_seconds\":%.9f",
            (unsigned long long)(sum->reads + sum->writes), (unsigned long long)sum->misses,
            (double)sum->miss_ticks * tick);
}

static void write_function(FILE *file, const struct function *function, double tick, int *first) {
    struct activity sum = {0, 0, 0, 0, 0};
    const struct thread *thread;
    uint32_t i;
    int first_section = 1;
    for (thread = state.threads; thread; thread = thread->next)
        if (function->number < thread->functions) {
            const struct activity *each = &thread->activities[function->number];
            sum.calls += each->calls;
            sum.total += each->total;
            sum.own += each->own;
        }
    if (!sum.calls) return;
    write_comma(file, first);
    fputs("{\"name\":", file);
    write_text(file, function->name);
    fputs(",\"file\":", file);
    write_text(file, function->file);
    fprintf(file, ",\"calls\":%llu,\"seconds\":%.9f,\"own_seconds\":%.9f,\"sections\":[", (unsigned long long)sum.calls,
            (double)sum.total * tick, (double)sum.own * tick);
    for (i = 0; i < state.section_count; i++) {
        const lookups lookups = sum_of_lookups(function->number, state.sections[i].section->id);
        if (!lookups.reads && !lookups.writes && !lookups.misses) continue;
        fputs(first_section ? "{\"section\":" : ",{\"section\":", file);
        first_section = 0;
        write_text(file, state.sections[i].name);
        fputc(',', file);
        write_lookups(file, &lookups, tick);
        fputc('}', file);
    }
    fputs("]}", file);
}

static void write_site(FILE *file, const struct site *site, double tick, int *first) {
    const uint64_t last = site->live ? state.end : site->last;
    write_comma(file, first);
    fputs("{\"file\":", file);
    write_text(file, site->file);
    fputs(",\"function\":", file);
    write_text(file, site->function);
    fprintf(file, ",\"line\":%u,\"column\":%u,\"blocks\":%llu,\"bytes\":%llu,\"peak_bytes\":%llu,\"largest\":%llu",
            site->line, site->column, (unsigned long long)site->blocks, (unsigned long long)site->bytes,
            (unsigned long long)site->peak_bytes, (unsigned long long)site->largest);
    fprintf(file, ",\"first\":%.9f,\"last\":%.9f}", site->blocks ? (double)(site->first - state.ticks) * tick : 0.0,
            site->blocks ? (double)(last - state.ticks) * tick : 0.0);
}

/* Who used a section: whether the main thread did, how many others at the same time, and whether they wrote. */
static void write_users(FILE *file, uint32_t id) {
    const struct thread *thread;
    uint64_t row, others = 0;
    int by_main = 0, others_write = 0;
    for (thread = state.threads; thread; thread = thread->next) {
        uint64_t looked_up = 0, wrote = 0;
        for (row = 0; id && row <= thread->functions; row++) {
            looked_up += thread->rows[row * MOST_SECTIONS + id].reads;
            wrote += thread->rows[row * MOST_SECTIONS + id].writes;
        }
        looked_up += wrote;
        by_main |= looked_up && thread->is_main;
        others += looked_up && !thread->is_main;
        others_write |= wrote && !thread->is_main;
    }
    fprintf(file, "\"main\":%s,\"other_threads\":%llu,\"others_write\":%s", by_main ? "true" : "false",
            (unsigned long long)others, others_write ? "true" : "false");
}

static void write_section(FILE *file, const struct section *section, double tick, int *first) {
    const uint32_t id = section->section->id;
    lookups sum = {0, 0, 0, 0};
    uint64_t row;
    for (row = 0; id && row <= state.function_count; row++) {
        const lookups each = sum_of_lookups(row, id);
        sum.reads += each.reads;
        sum.writes += each.writes;
        sum.misses += each.misses;
        sum.miss_ticks += each.miss_ticks;
    }
    write_comma(file, first);
    fputs("{\"name\":", file);
    write_text(file, section->name);
    fprintf(file, ",\"line\":%llu,\"ways\":%u,\"capacity\":%llu,", (unsigned long long)section->line, section->ways,
            (unsigned long long)section->capacity);
    write_lookups(file, &sum, tick);
    fputc(',', file);
    write_users(file, id);
    fprintf(file, ",\"unit\":%llu,\"rate\":%llu}", (unsigned long long)(section->line > 4096 ? section->line : 4096),
            (unsigned long long)state.rate);
}

static void write_profile(FILE *file) {
    const double tick = end_ticks();
    const struct unit *unit;
    uint64_t i;
    int first = 1;
    fprintf(file, "{\"version\":1,\"seconds\":%.9f%s,\n\"functions\":[", (double)(state.end - state.ticks) * tick,
            state.cut ? ",\"cut\":true" : "");
    for (unit = state.units; unit; unit = unit->next)
        for (i = 0; i < unit->function_count; i++) write_function(file, &unit->functions[i], tick, &first);
    fputs("],\n\"sites\":[", file);
    for (first = 1, unit = state.units; unit; unit = unit->next)
        for (i = 0; i < unit->site_count; i++) write_site(file, &unit->sites[i], tick, &first);
    fputs("],\n\"sections\":[", file);
    for (first = 1, i = 0; i < state.section_count; i++) write_section(file, &state.sections[i], tick, &first);
    fputs("]}\n", file);
}

static void complain(const char *path, int error) {
    fprintf(stderr, "farside: cannot write the profile %s: %s\n", path, strerror(error));
}

/* Ends what threads are doing, and writes what they have recorded. */
static void finish_threads(void) {
    const uint64_t now = ticks();
    struct thread *thread;
    for (thread = state.threads; thread; thread = thread->next) {
        farside_profile_close_(thread, 0, now);
        if (!thread->used || state.cut) continue;
        append_time(thread);
        farside_profile_flush_(thread);
    }
}

/* The trace of this run takes the place of that of another, or there is none. */
static void finish_trace(void) {
    char path[LONGEST_PATH + 32];
    snprintf(path, sizeof path, "%s.trace", state.path);
    if (state.trace_error) complain(state.trace, state.trace_error);
    if (state.written) {
        if (rename(state.trace, path) && !state.trace_error) complain(path, errno);
    } else {
        unlink(path);
    }
}

SLOW void farside_profile_finish_(void) {
    char path[LONGEST_PATH + 32];
    FILE *file;
    int error = 0;
    farside_profile_on_ = 0;
    finish_threads();
    finish_trace();
    snprintf(path, sizeof path, "%s.%ld", state.path, (long)state.pid);
    file = fopen(path, "we");
    if (!file) {
        complain(state.path, errno);
        return;
    }
    write_profile(file);
    if (ferror(file)) error = EIO;
    if (fclose(file)) error = errno;
    if (!error && rename(path, state.path)) error = errno;
    if (error) {
        complain(state.path, error);
        unlink(path);
    }
}
