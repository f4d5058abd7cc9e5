/* Lookups in sections, by the function that runs. */

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
            state.unit_shift_of[section->id] = (uint8_t)farside_profile_unit_shift_(section->shift);
        }
    }
    unlock();
}

/* Traces what is looked up, unit by unit. */
SLOW void farside_profile_trace_(struct thread *thread, uint64_t pointer, uint64_t size, int written) {
    const uint32_t id = (uint32_t)(pointer >> FARSIDE_ID_SHIFT_), place = state.place_of[id];
    const uint32_t shift = state.unit_shift_of[id];
    uint64_t offset = pointer & FARSIDE_PROFILE_OFFSET_;
    if (!place) return;
    do {
        const uint64_t rest = ((uint64_t)1 << shift) - (offset & (((uint64_t)1 << shift) - 1));
        const uint64_t some = size < rest ? size : rest;
        if (farside_profile_is_traced_(offset >> shift)) trace(thread, place, offset, some, written);
        offset += some;
        size -= some;
    } while (size);
}

FAST void farside_profile_lookup_(uint64_t pointer, size_t size, int written) {
    if (farside_profile_on_) farside_profile_trace_(farside_profile_self_, pointer, size, written);
}

void farside_profile_range_(uint64_t pointer, size_t size, int written) {
    const uint32_t id = (uint32_t)(pointer >> FARSIDE_ID_SHIFT_), place = state.place_of[id];
    struct thread *thread = self();
    uint64_t line, lines;
    if (!thread || !place || !size) return;
    line = state.sections[place - 1].line;
    lines = (pointer + size - 1) / line - pointer / line + 1;
    if (written)
        farside_profile_row_[id].writes += lines;
    else
        farside_profile_row_[id].reads += lines;
    farside_profile_trace_(thread, pointer, size, written);
}

static void note_miss(farside_ptr pointer, uint64_t begin) {
    const uint64_t time = ticks() - begin;
    struct thread *thread = self();
    lookups *row = thread ? &farside_profile_row_[pointer >> FARSIDE_ID_SHIFT_] : 0;
    if (!row) return;
    row->misses++;
    row->miss_ticks += time;
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
