/* Closes every descriptor that there may be, as daemons do, in each way that there is, while its memory is far; forks
 * after each, and with as many open as it may have. argv[1] is the size of its memory in MiB. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEP = 512 };

static uint64_t *words;
static size_t count;

static uint64_t sum(void) {
    uint64_t all = 0;
    for (size_t at = 0; at < count; at += STEP) all = all * 31 + words[at];
    return all;
}

static void change(uint64_t by) {
    for (size_t at = 0; at < count; at += STEP) words[at] += by + at;
}

/* Goes over all memory, here and in a child, which closes all again. */
static void use(const char *after) {
    change(count);
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) {
        perror("fork");
        exit(1);
    }
    if (child == 0) {
        closefrom(3);
        change(7);
        printf("%s: child %llu\n", after, (unsigned long long)sum());
        fflush(stdout);
        _exit(0);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status != 0) printf("%s: status %#x\n", after, status);
    printf("%s: %llu\n", after, (unsigned long long)sum());
}

static void one_by_one(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    int most = limit.rlim_cur < 100000 ? (int)limit.rlim_cur : 100000, refused = 0;
    for (int number = 3; number < most; number++)
        if (close(number) != 0 && errno != EBADF) refused++;
    printf("close: %d refused\n", refused);
}

/* Opens all that the limit allows, and gives them back. */
static void all_there_are(int limit) {
    struct rlimit limits;
    getrlimit(RLIMIT_NOFILE, &limits);
    rlim_t before = limits.rlim_cur;
    limits.rlim_cur = limit;
    setrlimit(RLIMIT_NOFILE, &limits);
    int last = -1, next;
    while ((next = open("/dev/null", O_RDONLY)) >= 0) last = next;
    printf("the last of %d is %d\n", limit, last);
    use("all in use");
    getrlimit(RLIMIT_NOFILE, &limits);
    printf("the limit is %d\n", (int)limits.rlim_cur);
    closefrom(3);
    limits.rlim_cur = before;
    setrlimit(RLIMIT_NOFILE, &limits);
}

int main(int argc, char **argv) {
    count = (argc > 1 ? strtoul(argv[1], NULL, 10) : 8) << 17;
    words = malloc(count * sizeof *words);
    for (size_t at = 0; at < count; at++) words[at] = at * 0x9e3779b97f4a7c15;
    use("start");
    one_by_one();
    use("one by one");
    printf("close_range: %d\n", close_range(3, ~0U, 0));
    use("a range");
    closefrom(3);
    use("closefrom");
    for (int number = 3; number < 250; number++)
        if (dup2(1, number) != number) printf("dup2: %d\n", number);
    use("dup2");
    closefrom(3);
    all_there_are(300);
    use("end");
    return 0;
}
