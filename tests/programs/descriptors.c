/* descriptors FD…: writes to each of these descriptors, and creates `planted` in each that is a directory.
 * descriptors: prints every open descriptor above 2. */
#include "attack.h"

static int use(int fd)
{
    return write(fd, "planted\n", 8) == 8 || openat(fd, "planted", O_WRONLY | O_CREAT, 0600) >= 0;
}

int main(int argc, char **argv)
{
    int used = 0;
    for (int fd = 3; argc == 1 && fd < 4096; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            printf("%d\n", fd);
    for (int i = 1; i < argc; i++)
        used += use(atoi(argv[i]));
    return argc > 1 && used == 0;
}
