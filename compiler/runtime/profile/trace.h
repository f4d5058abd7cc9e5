/* The trace of what is looked up in sections: records in the order in which things happen, as far as one thread goes. */

/* Writes what a thread has recorded, as far as there may be more. */
SLOW void farside_profile_flush_(struct thread *thread) {
    uint64_t size = thread->used * sizeof *thread->records;
    const uint64_t at = __atomic_fetch_add(&state.written, size, __ATOMIC_RELAXED);
    const char *from = (const char *)thread->records;
    int file;
    thread->used = thread->since_time = 0;
    if (at + size > state.most) {
        state.cut = 1;
        size = at < state.most ? state.most - at : 0;
    }
    if (!size) return;
    /* The program may close what it has not opened: the file is open only meanwhile. */
    file = open(state.trace, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    while (file >= 0 && size) {
        const ssize_t some = write(file, from, size);
        if (some < 0 && errno == EINTR) continue;
        if (some <= 0) break;
        from += some;
        size -= (uint64_t)some;
    }
    if (size) state.trace_error = errno ? errno : EIO, state.cut = 1;
    if (file >= 0) close(file);
}

/* There is always room for it. */
static void append_time(struct thread *thread) {
    thread->records[thread->used++] = (nanoseconds() - state.nanoseconds) & (((uint64_t)1 << 56) - 1);
}

/* Bytes of one unit that are looked up together. */
static void trace(struct thread *thread, uint32_t place, uint64_t offset, uint64_t size, int written) {
    const uint64_t first = offset >> 6, blocks = ((offset + (size ? size : 1) - 1) >> 6) - first + 1;
    const uint64_t bits = blocks > 1 ? 64 - (uint64_t)__builtin_clzll(blocks - 1) : 0;
    const int saved = errno;
    if (state.cut) return;
    if (thread->since_time++ % 1024 == 0) append_time(thread);
    thread->records[thread->used++] =
        (uint64_t)place << 56 | (uint64_t)(written != 0) << 55 | bits << 48 | (first & (((uint64_t)1 << 48) - 1));
    if (thread->used + 2 > MOST_RECORDS) farside_profile_flush_(thread);
    errno = saved;
}
