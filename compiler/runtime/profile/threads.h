/* What each thread has for itself. */

/* Lookups are those of the function that runs. */
static inline void choose_row(struct thread *thread) {
    const uint32_t function = thread->depth ? thread->frames[thread->depth - 1].function : thread->functions;
    farside_profile_row_ = thread->rows + (size_t)function * MOST_SECTIONS;
}

static void free_thread(void *given) {
    struct thread *thread = (struct thread *)given;
    farside_profile_close_(thread, 0, ticks());
    farside_profile_self_ = 0;
    farside_profile_row_ = 0;
    lock();
    thread->next_free = state.free_threads;
    state.free_threads = thread;
    unlock();
}

static struct thread *new_thread(void) {
    const size_t functions = state.function_count;
    const size_t activities = functions * sizeof(struct activity);
    const size_t rows = (functions + 1) * MOST_SECTIONS * sizeof(lookups);
    const size_t frames = MOST_FRAMES * sizeof(struct frame), records = MOST_RECORDS * sizeof(uint64_t);
    char *all = (char *)memory(4096 + records + frames + rows + activities);
    struct thread *thread = (struct thread *)all;
    if (!all) return 0;
    thread->records = (uint64_t *)(all + 4096);
    thread->frames = (struct frame *)(all + 4096 + records);
    thread->rows = (lookups *)(all + 4096 + records + frames);
    thread->activities = (struct activity *)(all + 4096 + records + frames + rows);
    thread->functions = (uint32_t)functions;
    return thread;
}

/* Null, and no profile, if there is no memory. */
SLOW struct thread *farside_profile_begin_(void) {
    struct thread *thread;
    const int saved = errno;
    lock();
    thread = state.free_threads;
    if (thread) {
        state.free_threads = thread->next_free;
    } else if ((thread = new_thread())) {
        thread->next = state.threads;
        state.threads = thread;
    } else {
        farside_profile_on_ = 0;
    }
    unlock();
    farside_profile_self_ = thread;
    if (thread) {
        thread->is_main = syscall(SYS_gettid) == state.pid;
        choose_row(thread);
        pthread_setspecific(state.thread_key, thread);
    }
    errno = saved;
    return thread;
}

static inline struct thread *self(void) {
    struct thread *thread = farside_profile_self_;
    return __builtin_expect(thread != 0, 1) ? thread : farside_profile_begin_();
}
