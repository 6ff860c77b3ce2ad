/* x32: one call with the x32 bit set. */
#include "attack.h"

int main(void)
{
    must("getpid by x32", syscall(0x40000000 | SYS_getpid));
    return 0;
}
