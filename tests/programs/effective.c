/* effective PATH: creates PATH, owned by the effective user, and writes that user's number into it. */
#include "attack.h"

int main(int argc, char **argv)
{
    int out = must("create", open(argument(argc, argv, 1), O_WRONLY | O_CREAT, 0644));
    dprintf(out, "%u\n", geteuid());
    return 0;
}
