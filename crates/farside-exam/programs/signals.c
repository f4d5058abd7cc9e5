// Handlers that map memory, and come to memory that may be far, while the program does the same; installed by the function
// that is named.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

enum { PAGE = 4096, BYTES = 1 << 20, PAGES = 6000, ALARMS = 500 };

static volatile sig_atomic_t alarms;
static char *far;

static void map_and_unmap(void) {
    char *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        abort();
    }
    p[BYTES / 2] = 1;
    munmap(p, BYTES);
}

static void look(void) {
    static unsigned long state = 1;
    for (int i = 0; i < 8; i++) {
        state = state * 6364136223846793005ul + 1442695040888963407ul;
        unsigned long page = (state >> 33) % PAGES;
        if (far[page * PAGE] != (char)page) {
            abort();
        }
    }
}

static void alarmed(int number) {
    (void)number;
    look();
    map_and_unmap();
    alarms++;
}

static void install(const char *how) {
    struct sigaction action = {.sa_handler = alarmed, .sa_flags = SA_RESTART};
    if (!strcmp(how, "sigaction")) {
        sigaction(SIGALRM, &action, NULL);
    } else if (!strcmp(how, "signal")) {
        signal(SIGALRM, alarmed);
    } else if (!strcmp(how, "sysv_signal")) {
        sysv_signal(SIGALRM, alarmed);
    } else {
        sigset(SIGALRM, alarmed);
    }
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "sigaction";
    struct itimerval once = {{0, 0}, {0, 200}};
    far = malloc(PAGES * PAGE);
    if (!far) {
        abort();
    }
    for (long page = 0; page < PAGES; page++) {
        far[page * PAGE] = (char)page;
    }
    while (alarms < ALARMS) {
        int before = alarms;
        install(how);
        setitimer(ITIMER_REAL, &once, NULL);
        while (alarms == before) {
            map_and_unmap();
        }
    }
    printf("%s: %d alarms\n", how, ALARMS);
    return 0;
}
