/* Lookups in sections, by the function that runs. */

#define OFFSET_MASK (((uint64_t)1 << FARSIDE_ID_SHIFT_) - 1)

/* Sections begin units of at least a page, so that what is near is traced together. */
#define LEAST_UNIT_SHIFT 12u

void farside_profile_opened_(const struct farside_section *section, const struct farside_section_options *how) {
    struct section *entry;
    uint32_t i;
    lock();
    for (i = 0; i < state.section_count && state.sections[i].section != section; i++) {}
    if (i == state.section_count && i + 1 < MOST_SECTIONS) {
        entry = &state.sections[state.section_count++];
        entry->section = section;
        entry->name = how->name ? how->name : "";
        entry->capacity = how->capacity;
        entry->line = how->line;
        entry->ways = how->ways;
        if (section->id && section->id < MOST_SECTIONS) {
            state.place_of[section->id] = (uint8_t)state.section_count;
            state.unit_shift_of[section->id] = section->shift > LEAST_UNIT_SHIFT ? section->shift : LEAST_UNIT_SHIFT;
        }
    }
    unlock();
}

/* Traces what is looked up, unit by unit. */
SLOW void farside_profile_trace_(struct thread *thread, uint64_t pointer, uint64_t size, int written) {
    const uint32_t id = (uint32_t)(pointer >> FARSIDE_ID_SHIFT_), place = state.place_of[id];
    const uint32_t shift = state.unit_shift_of[id];
    uint64_t offset = pointer & OFFSET_MASK;
    if (!place) return;
    do {
        const uint64_t rest = ((uint64_t)1 << shift) - (offset & (((uint64_t)1 << shift) - 1));
        const uint64_t some = size < rest ? size : rest;
        if (is_traced(offset >> shift)) trace(thread, place, offset, some, written);
        offset += some;
        size -= some;
    } while (size);
}

/* Lookups that are traced, and the first one of a thread. */
RARE void farside_profile_lookup_traced_(uint64_t pointer, size_t size, int written) {
    struct thread *thread = self();
    if (!thread) return;
    thread->row[pointer >> FARSIDE_ID_SHIFT_].lookups++;
    farside_profile_trace_(thread, pointer, size, written);
}

FAST void farside_profile_lookup_(uint64_t pointer, size_t size, int written) {
    const uint32_t id = (uint32_t)(pointer >> FARSIDE_ID_SHIFT_), shift = state.unit_shift_of[id];
    const uint64_t unit = (pointer & OFFSET_MASK) >> shift;
    struct thread *thread = farside_profile_self_;
    if (!thread || is_traced(unit) || (((pointer + size - 1) & OFFSET_MASK) >> shift) != unit)
        END_IN farside_profile_lookup_traced_(pointer, size, written);
    thread->row[id].lookups++;
}

void farside_profile_range_(uint64_t pointer, size_t size, int written) {
    const uint32_t id = (uint32_t)(pointer >> FARSIDE_ID_SHIFT_), place = state.place_of[id];
    struct thread *thread = self();
    uint64_t line;
    if (!thread || !place || !size) return;
    line = state.sections[place - 1].line;
    thread->row[id].lookups += (pointer + size - 1) / line - pointer / line + 1;
    farside_profile_trace_(thread, pointer, size, written);
}

static void note_miss(farside_ptr pointer, uint64_t begin) {
    const uint64_t time = ticks() - begin;
    struct thread *thread = self();
    struct lookups *lookups = thread ? &thread->row[pointer >> FARSIDE_ID_SHIFT_] : 0;
    if (!lookups) return;
    lookups->misses++;
    lookups->miss_ticks += time;
}

/* In the place of what sections.c asks for what is missing. */
HIDDEN void *farside_profile_miss_(farside_ptr pointer) {
    const uint64_t begin = ticks();
    void *address = farside_section_miss_(pointer);
    if (farside_profile_on_) note_miss(pointer, begin);
    return address;
}

HIDDEN void *farside_profile_pin_(farside_ptr pointer) {
    const uint64_t begin = ticks();
    void *address = farside_section_pin_(pointer);
    if (farside_profile_on_) note_miss(pointer, begin);
    return address;
}
