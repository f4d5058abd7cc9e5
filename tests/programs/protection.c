/* mprotect, a write barrier by SIGSEGV, alternate signal stacks in the heap. */
#include "check.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

enum { PAGE = 4096, RW = PROT_READ | PROT_WRITE, ANON = MAP_PRIVATE | MAP_ANONYMOUS };

static char *barrier;
static size_t barrier_pages;
static volatile int barrier_hits;
static sigjmp_buf escape;

static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)context;
    char *page = (char *)((uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1));
    if (signal == SIGSEGV && page >= barrier && page < barrier + barrier_pages * PAGE) {
        barrier_hits++;
        mprotect(page, PAGE, RW);
        return;
    }
    siglongjmp(escape, 1);
}

/* Whether touching the byte faults. */
static bool faults(volatile char *byte, bool write)
{
    if (sigsetjmp(escape, 1))
        return true;
    if (write)
        *byte = 1;
    else
        (void)*byte;
    return false;
}

static void laws(void)
{
    char *p = mmap(NULL, 8 * PAGE, RW, ANON, -1, 0);
    CHECK(p != MAP_FAILED);
    memset(p, 3, 8 * PAGE);
    CHECK(mprotect(p + 2 * PAGE, 2 * PAGE, PROT_NONE) == 0);
    CHECK(mprotect(p + 4 * PAGE, 2 * PAGE, PROT_READ) == 0);
    CHECK(!faults(p, true) && faults(p + 2 * PAGE, false) && faults(p + 3 * PAGE, true));
    CHECK(!faults(p + 4 * PAGE, false) && faults(p + 5 * PAGE, true) && !faults(p + 6 * PAGE, true));
    CHECK(mprotect(p, 8 * PAGE, RW) == 0 && all_bytes(p + 2 * PAGE, 3, 4 * PAGE));
    CHECK(mprotect(p + 1, PAGE, PROT_READ) == -1 && errno == EINVAL);
    CHECK(mprotect(p, 0, PROT_NONE) == 0 && !faults(p, true));
    CHECK(mprotect(p, PAGE, 0x40) == -1 && errno == EINVAL);
    CHECK(munmap(p + 4 * PAGE, PAGE) == 0);
    CHECK(mprotect(p, 8 * PAGE, PROT_READ) == -1 && errno == ENOMEM);
    CHECK(munmap(p, 8 * PAGE) == 0);
    p = mmap(NULL, 4 * PAGE, PROT_READ, ANON, -1, 0);
    CHECK(p != MAP_FAILED && all_bytes(p, 0, 4 * PAGE) && faults(p, true));
    CHECK(munmap(p, 4 * PAGE) == 0);
    /* Address space that was protected is ordinary again for its next owner. */
    p = mmap(NULL, 4 * PAGE, RW, ANON, -1, 0);
    CHECK(p != MAP_FAILED && !faults(p, true) && !faults(p + 3 * PAGE, true));
    CHECK(munmap(p, 4 * PAGE) == 0);
}

static void write_barrier(void)
{
    barrier_pages = 500;
    CHECK(posix_memalign((void **)&barrier, PAGE, barrier_pages * PAGE) == 0 && far_if_any(barrier));
    memset(barrier, 1, barrier_pages * PAGE);
    for (int round = 0; round < 3; round++) {
        barrier_hits = 0;
        CHECK(mprotect(barrier, barrier_pages * PAGE, PROT_READ) == 0);
        for (size_t i = 0; i < barrier_pages; i += 3)
            barrier[i * PAGE + i] = 2;
        CHECK(barrier_hits == 167);
    }
    CHECK(mprotect(barrier, barrier_pages * PAGE, RW) == 0);
    for (size_t i = 0; i < barrier_pages; i++)
        CHECK(barrier[i * PAGE + i] == (i % 3 == 0 ? 2 : 1));
    free(barrier);
    barrier = NULL;
}

static volatile uintptr_t on_stack;

static void on_signal(int signal)
{
    (void)signal;
    volatile char local[2000];
    for (size_t i = 0; i < sizeof local; i++)
        local[i] = (char)i;
    on_stack = (uintptr_t)local;
}

static void *alternate_stack(void *argument)
{
    (void)argument;
    size_t size = 64 << 10;
    stack_t stack = {.ss_sp = malloc(size), .ss_size = size}, off = {.ss_flags = SS_DISABLE};
    CHECK(stack.ss_sp && sigaltstack(&stack, NULL) == 0);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0 && raise(SIGUSR1) == 0);
    CHECK(on_stack > (uintptr_t)stack.ss_sp && on_stack < (uintptr_t)stack.ss_sp + size);
    CHECK(sigaltstack(&off, NULL) == 0);
    free(stack.ss_sp);
    return NULL;
}

static volatile sig_atomic_t ticks;

/* Maps memory: the program may have been interrupted anywhere, also in a call that maps memory. */
static void on_tick(int signal)
{
    (void)signal;
    int saved = errno;
    char *p = mmap(NULL, 3 * PAGE, RW, ANON, -1, 0);
    p[PAGE] = 1;
    mprotect(p, PAGE, PROT_READ);
    munmap(p, 3 * PAGE);
    ticks++;
    errno = saved;
}

static void map_in_handler(void)
{
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    CHECK(sigaction(SIGUSR2, &action, NULL) == 0);
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
    struct itimerspec often = {{0, 200000}, {0, 200000}}, off = {{0, 0}, {0, 0}};
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    CHECK(timer_settime(timer, 0, &often, NULL) == 0);
    while (ticks < 300) {
        char *p = mmap(NULL, 10 * PAGE, RW, ANON, -1, 0);
        CHECK(p != MAP_FAILED);
        p[5 * PAGE] = 1;
        CHECK(mprotect(p + PAGE, PAGE, PROT_NONE) == 0 && munmap(p, 10 * PAGE) == 0);
        free(malloc(3 << 20));
    }
    CHECK(timer_settime(timer, 0, &off, NULL) == 0 && timer_delete(timer) == 0);
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0 && sigaction(SIGBUS, &action, NULL) == 0);
    laws();
    write_barrier();
    pthread_t thread;
    alternate_stack(NULL);
    CHECK(pthread_create(&thread, NULL, alternate_stack, NULL) == 0);
    pthread_join(thread, NULL);
    map_in_handler();
    puts("protection: all as promised");
    return 0;
}
