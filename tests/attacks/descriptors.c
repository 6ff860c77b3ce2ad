/* descriptors: writes to every descriptor above 2, and creates `planted` in every one that is a directory. */
#include "attack.h"

int main(void)
{
    int found = 0;
    for (int fd = 3; fd < 4096; fd++) {
        if (fcntl(fd, F_GETFD) < 0)
            continue;
        found += write(fd, "planted\n", 8) == 8;
        found += openat(fd, "planted", O_WRONLY | O_CREAT, 0600) >= 0;
    }
    if (found == 0)
        fprintf(stderr, "no descriptor above 2 is of use\n");
    return found == 0;
}
