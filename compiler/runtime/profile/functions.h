/*
 * How long functions take. Calls that are timed are on a stack of each thread; a function keeps in which place it is
 * there, so that one which ends also ends what was left by an exception or by longjmp().
 */

/* So many of the last calls tell how long one takes. */
#define LAST_CALLS 16u
/* Until so many calls have been timed nothing is said of how long they take; then of so many one is. */
#define FIRST_CALLS 4096u
#define ONE_OF_CALLS 256u

/* Ends all calls from a place on. A signal handler that comes between has places behind those that are still there. */
static inline void close_from(struct thread *thread, int32_t depth, uint64_t now) {
    while (thread->depth > depth) {
        const struct frame frame = thread->frames[thread->depth - 1];
        struct activity *activity = &thread->activities[frame.function];
        const uint64_t time = now - frame.start;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        thread->depth--;
        activity->own += time - frame.inner;
        activity->lately += time - activity->lately / LAST_CALLS;
        if (!--activity->active) activity->total += time;
        if (thread->depth) thread->frames[thread->depth - 1].inner += time;
    }
}

SLOW void farside_profile_close_(struct thread *thread, int32_t depth, uint64_t now) { close_from(thread, depth, now); }

FAST int32_t farside_profile_enter_(const struct function *function);

/* What a thread does first. */
RARE int32_t farside_profile_enter_first_(const struct function *function) {
    return farside_profile_begin_() ? farside_profile_enter_(function) : -1;
}

/*
 * The place of a call that begins, or -1 if it is not timed: it is a part of the one that it is called from. That is so for
 * a function that calls itself, and for calls that are too short.
 */
FAST int32_t farside_profile_enter_(const struct function *function) {
    struct thread *thread = farside_profile_self_;
    const uint32_t number = function->number;
    struct activity *activity;
    struct frame *frame;
    int32_t depth;
    if (__builtin_expect(!thread, 0)) END_IN farside_profile_enter_first_(function);
    if (__builtin_expect(number >= thread->functions, 0)) return -1;
    activity = &thread->activities[number];
    depth = thread->depth;
    activity->calls++;
    if (depth == MOST_FRAMES || (depth && thread->frames[depth - 1].function == number)) return -1;
    if (activity->lately < state.shortest && activity->calls > FIRST_CALLS && activity->calls % ONE_OF_CALLS) return -1;
    frame = &thread->frames[depth];
    thread->depth = depth + 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    frame->function = number;
    frame->inner = 0;
    activity->active++;
    farside_profile_row_ = thread->rows + (size_t)number * MOST_SECTIONS;
    frame->start = ticks();
    return depth;
}

/* Usually it is the last one that ends. */
FAST void farside_profile_leave_(int32_t depth) {
    const uint64_t now = ticks();
    struct thread *thread = farside_profile_self_;
    if (thread && depth < thread->depth) {
        close_from(thread, depth, now);
        choose_row(thread);
    }
}

PART int32_t farside_profile_enter(const struct function *function) {
    return __builtin_expect(farside_profile_on_, 0) ? farside_profile_enter_(function) : -1;
}

PART void farside_profile_leave(int32_t depth) {
    if (__builtin_expect(depth >= 0, 0)) farside_profile_leave_(depth);
}

/* The function goes on after what it has called ended otherwise than by returning. */
PART void farside_profile_back(int32_t depth) {
    if (__builtin_expect(depth >= 0, 0)) farside_profile_leave_(depth + 1);
}
