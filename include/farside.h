/*
 * farside.h - parts of a program's run on tape.
 *
 * A program whose memory is partly far runs best when it is known beforehand which pages it uses,
 * and when. Farside can record that once and follow the recording, the tape, in later runs. This
 * header is for programs that want only a part of their run on tape: a solver, but not the reading
 * of its input.
 *
 *     #include <farside.h>
 *
 *     load(input);
 *     farside_begin(FARSIDE_AUTO);
 *     solve();
 *     farside_end();
 *     store(output);
 *
 * Nothing has to be linked. Without Farside both calls do nothing and return 0. With it, as in
 * `farside run --local 20% -- ./program`, the first run records the part, plans it when the program
 * has ended, and keeps the tape; later runs follow it.
 *
 * A part is known by the program's build, its arguments, the place that calls farside_begin (the
 * call itself, and up to five callers of its function), and how often a part was begun at that
 * place before. So a part in a loop is one part each time round, with a tape of its own. Farside
 * keeps the first 256 parts of a process; with others nothing is done.
 *
 * What a tape holds fits another run if the part does the same in it: the same allocations in the
 * same order, from the beginning of the program on, and the same use of memory in the part. If it
 * does not, the run is no faster than without a tape, and its results are the same.
 *
 * A part concerns the whole process, whatever thread begins or ends it. Threads are told apart by
 * the order in which they were made. A child made by fork() is in no part and begins none: there
 * both calls do nothing and return 0. A part that has no end before the program ends is followed,
 * but not recorded.
 *
 * Under `farside record` the first part is what is recorded, and nothing else; under `farside run
 * --tape` the tape is followed in the first part. Both whatever mode the program asks for; its
 * other parts are left alone.
 *
 * The calls are safe in all threads, and not in signal handlers. They need GCC or Clang, and C89 or
 * C++98; with other compilers they do nothing. A library that is loaded later with dlopen() may
 * make them if the program does so too, or if FARSIDE_PARTS=1 is in the environment of `farside
 * run`. With FARSIDE_PARTS=0 nothing is done in any part.
 */
#ifndef FARSIDE_H
#define FARSIDE_H

/* What to do with a part. */
enum farside_mode {
    /* Record it, even if there is a tape, which is replaced. */
    FARSIDE_RECORD = 1,
    /* Follow its tape if there is one. */
    FARSIDE_PREFETCH = 2,
    /* Follow its tape if there is one, else record it. */
    FARSIDE_AUTO = 3
};

#if defined(__GNUC__) && defined(__ELF__)

/* Looked up at start-up, even in programs with fixed addresses; null where Farside is not. */
#if !defined(__clang__) && __GNUC__ >= 6
#define FARSIDE_WEAK __attribute__((weak, noplt))
#else
#define FARSIDE_WEAK __attribute__((weak))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * int farside_begin(int mode): a part begins here. A part that is recorded is slower than the rest.
 *
 * Returns 0 if that is done, or if there is nothing to do: no Farside, no tape to follow, no room
 * to record into (Farside tells the user why). Returns -1, and sets errno, if
 *   EINVAL  the mode is none of the above,
 *   EBUSY   a part has begun already and not ended.
 */
extern int farside_begin(int mode) FARSIDE_WEAK;

/*
 * int farside_end(void): the part ends here.
 *
 * Returns 0, or -1, and sets errno, if
 *   EINVAL  no part has begun.
 */
extern int farside_end(void) FARSIDE_WEAK;

#ifdef __cplusplus
}
#endif

#define farside_begin(mode) (farside_begin ? farside_begin(mode) : 0)
#define farside_end() (farside_end ? farside_end() : 0)

#else

#define farside_begin(mode) ((void)(mode), 0)
#define farside_end() (0)

#endif

#endif
