// A process is over when its last thread is, and threads that run when nothing else does come to their end late where
// processors are busy. Prints how many such threads there are, in a process that has just begun and in its child.
#define _GNU_SOURCE
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int idle_threads(void) {
    int idle = 0;
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks) abort();
    for (struct dirent *entry; (entry = readdir(tasks));)
        idle += sched_getscheduler(atoi(entry->d_name)) == SCHED_IDLE;
    closedir(tasks);
    return idle;
}

int main(void) {
    printf("at the beginning: %d\n", idle_threads());
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) {
        printf("in a child: %d\n", idle_threads());
        fflush(stdout);
        _exit(0);
    }
    int status;
    return waitpid(child, &status, 0) == child ? status : 2;
}
