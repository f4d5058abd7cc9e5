// RUN: %same %s
// RUN: %lifted %s
// Assembly in functions and between them.
#include <stdint.h>
#include <stdio.h>

__asm__(".pushsection .text\n"
        ".globl from_assembly\n"
        ".type from_assembly,@function\n"
        "from_assembly:\n"
        "  lea 7(%rdi,%rsi,2), %rax\n"
        "  ret\n"
        ".size from_assembly, .-from_assembly\n"
        ".popsection");
long from_assembly(long, long);

static long hidden(long x) __asm__("renamed_in_assembly");
__attribute__((used, noinline)) static long hidden(long x) { return x * 3; }

__attribute__((noinline)) static uint64_t rotate(uint64_t x) {
  __asm__("rorq $13, %0" : "+r"(x) : : "cc");
  return x;
}

__attribute__((noinline)) static int indirect(int *memory) {
  int before;
  __asm__ volatile("movl %1, %0\n\taddl $5, %1" : "=r"(before), "+m"(*memory) : : "memory", "cc");
  return before;
}

__attribute__((noinline)) static int flags(unsigned a, unsigned b) {
  int carried;
  __asm__("addl %2, %1" : "=@ccc"(carried), "+r"(a) : "r"(b));
  return carried;
}

__attribute__((noinline)) static int jumping(int x) {
  __asm__ goto("testl %0, %0\n\tjs %l1" : : "r"(x) : "cc" : negative);
  return 1;
negative:
  return -1;
}

__attribute__((naked, noinline)) static long bare(long x) { __asm__("leaq 1(%rdi,%rdi), %rax\n\tret"); }

int main(void) {
  int memory = 10;
  int before = indirect(&memory);
  printf("%ld %ld\n", from_assembly(3, 4), hidden(5));
  printf("%llx %d %d\n", (unsigned long long)rotate(0x123456789abcdef0), before, memory);
  printf("%d %d\n", flags(~0u, 1), flags(1, 1));
  printf("%d %d %ld\n", jumping(5), jumping(-5), bare(20));
  return 0;
}
