// Handlers that map memory while the program does the same, installed by the function that is named.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

enum { BYTES = 1 << 20, ALARMS = 500 };

static volatile sig_atomic_t alarms;

static void map_and_unmap(void) {
    char *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        abort();
    }
    p[BYTES / 2] = 1;
    munmap(p, BYTES);
}

static void alarmed(int number) {
    (void)number;
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
