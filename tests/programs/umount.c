/* umount MASK SECRET COPY: takes a mask away and copies what was under it. */
#include "attack.h"
#include <sys/mount.h>

int main(int argc, char **argv)
{
    must("umount", umount2(argument(argc, argv, 1), MNT_DETACH));
    copy_out(must("open the secret", open(argument(argc, argv, 2), O_RDONLY)), argument(argc, argv, 3));
    return 0;
}
