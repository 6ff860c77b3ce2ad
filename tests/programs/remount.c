/* remount MOUNT FILE: makes a read-only mount writable and creates a file there. */
#include "attack.h"
#include <sys/mount.h>

int main(int argc, char **argv)
{
    must("remount", mount(NULL, argument(argc, argv, 1), NULL, MS_REMOUNT | MS_BIND, NULL));
    must("create", open(argument(argc, argv, 2), O_WRONLY | O_CREAT, 0600));
    return 0;
}
