/* held HOW FD: changes the metadata of the file behind a descriptor, which need not be open for writing. chmod and utime:
 * to what they are, so that only the time of the change tells; xattr: user.planted. */
#include "attack.h"
#include <sys/xattr.h>

int main(int argc, char **argv)
{
    const char *how = argument(argc, argv, 1);
    int fd = atoi(argument(argc, argv, 2));
    struct stat now;
    must("fstat", fstat(fd, &now));
    struct timespec times[2] = {now.st_atim, now.st_mtim};
    if (strcmp(how, "chmod") == 0)
        must(how, fchmod(fd, now.st_mode & 07777));
    else if (strcmp(how, "utime") == 0)
        must(how, futimens(fd, times));
    else if (strcmp(how, "xattr") == 0)
        must(how, fsetxattr(fd, "user.planted", "x", 1, 0));
    else
        exit(2);
    return 0;
}
