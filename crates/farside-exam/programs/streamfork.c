// Forks while what the C library needs for it is far: the state of its name services, and streams, whose locks it takes
// before the fork and makes anew after it. With a second argument, other threads open and close streams and look names
// up meanwhile, so that they hold these locks when they wait for memory. Prints what each child finds.
#include <pthread.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STREAMS = 64, FORKS = 24, BUSY = 3 };

static FILE *streams[STREAMS];
static unsigned char *memory;
static size_t length;
static atomic_int stop;

static unsigned long touch_all(void) {
    unsigned long total = 0;
    for (size_t at = 0; at < length; at += 512) total += ++memory[at];
    return total;
}

static void *be_busy(void *unused) {
    char room[1024];
    while (!stop) {
        struct passwd entry, *found;
        FILE *stream = fopen("/dev/null", "w");
        if (!stream || fprintf(stream, "something") < 0 || fclose(stream)) abort();
        if (getpwuid_r(0, &entry, room, sizeof room, &found)) abort();
        fflush(NULL);
    }
    return unused;
}

static void live_as_child(int number) {
    struct passwd *root = getpwuid(0);
    char line[64] = "";
    rewind(streams[number]);
    if (!root || !fgets(line, sizeof line, streams[number])) _exit(4);
    printf("child %d: %s, %s", number, root->pw_name, line);
    fflush(stdout);
    for (int at = 0; at < STREAMS; at++)
        if (fclose(streams[at])) _exit(5);
    _exit(0);
}

int main(int argc, char **argv) {
    if (argc < 2 || !getpwuid(0)) return 2;
    length = (size_t)atoi(argv[1]) << 20;
    memory = calloc(length, 1);
    // Between two streams lies memory that is used, so that these are not all on the same pages.
    for (int at = 0; at < STREAMS; at++) {
        streams[at] = tmpfile();
        if (!streams[at] || fprintf(streams[at], "stream %d\n", at) < 0) return 3;
        memset(malloc(3000), 1, 3000);
    }
    pthread_t busy[BUSY];
    for (int at = 0; argc > 2 && at < BUSY; at++)
        if (pthread_create(&busy[at], NULL, be_busy, NULL)) return 4;
    for (int number = 0; number < FORKS; number++) {
        unsigned long total = touch_all();
        pid_t child = fork();
        if (child < 0) return 5;
        if (child == 0) live_as_child(number);
        int status;
        if (waitpid(child, &status, 0) != child || status != 0) return 6;
        printf("parent: %lu\n", total);
        fflush(stdout);
    }
    stop = 1;
    for (int at = 0; argc > 2 && at < BUSY; at++) pthread_join(busy[at], NULL);
    return 0;
}
