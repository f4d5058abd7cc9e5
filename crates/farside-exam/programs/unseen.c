/*
 * Drops memory by a system call that no library sees: `unseen MEGABYTES`. Exits with 0 if it then finds zeros.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    size_t size = strtoul(argv[1], 0, 10) << 20;
    char *memory = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 3;
    memset(memory, 7, size);
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(SYS_madvise), "D"(memory), "S"(size), "d"(MADV_DONTNEED)
                     : "rcx", "r11", "memory");
    return result ? 3 : memory[size - 1];
}
