/* foreign PATH: creates a file by a 32-bit system call from a 64-bit program, whose numbers mean other calls. */
#include "attack.h"
#include <sys/mman.h>

#define CREAT_32 8

int main(int argc, char **argv)
{
    char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    long result;
    if (low == MAP_FAILED)
        must("mmap", -1);
    strncpy(low, argument(argc, argv, 1), 4095);
    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(CREAT_32), "b"(low), "c"(0600)
                     : "memory", "r8", "r9", "r10", "r11");
    if ((int)result < 0)
        errno = -(int)result;
    must("creat by int 0x80", (int)result < 0 ? -1 : 0);
    return 0;
}
