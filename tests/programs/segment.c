/* segment make|write|read|drop KEY: a word of System V shared memory; write changes it from 1 to 2, read prints it. */
#include "attack.h"
#include <sys/ipc.h>
#include <sys/shm.h>

int main(int argc, char **argv)
{
    const char *how = argument(argc, argv, 1);
    key_t key = (key_t)strtoul(argument(argc, argv, 2), NULL, 16);
    int make = strcmp(how, "make") == 0 ? IPC_CREAT | IPC_EXCL | 0600 : 0;
    int id = must("shmget", shmget(key, sizeof(long), make));
    if (strcmp(how, "drop") == 0)
        return (int)must("shmctl", shmctl(id, IPC_RMID, NULL));
    long *word = shmat(id, NULL, 0);
    if (word == (void *)-1)
        must("shmat", -1);
    if (make)
        *word = 1;
    else if (strcmp(how, "write") == 0)
        *word = 2;
    printf("%ld\n", *word);
    return 0;
}
