/* metadata HOW PATH: changes the metadata of a file that may only be read. chmod: 0666; utime: 1970; xattr: user.planted;
 * truncate: empty it without opening it. */
#include "attack.h"
#include <sys/xattr.h>

int main(int argc, char **argv)
{
    const char *how = argument(argc, argv, 1), *path = argument(argc, argv, 2);
    struct timespec times[2] = {{0, 0}, {0, 0}};
    if (strcmp(how, "chmod") == 0)
        must(how, chmod(path, 0666));
    else if (strcmp(how, "utime") == 0)
        must(how, utimensat(AT_FDCWD, path, times, 0));
    else if (strcmp(how, "xattr") == 0)
        must(how, setxattr(path, "user.planted", "x", 1, 0));
    else if (strcmp(how, "truncate") == 0)
        must(how, truncate(path, 0));
    else
        exit(2);
    return 0;
}
