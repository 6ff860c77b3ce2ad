/* Shared by the attack programs.
 *
 * Each program tries one thing. It exits 0 when every call succeeded, and 1 with the call's name and its error when
 * one did not. Tests judge by the state of the world wherever the attack leaves a trace in it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static inline long must(const char *call, long result)
{
    if (result < 0) {
        fprintf(stderr, "%s: %s\n", call, strerror(errno));
        exit(1);
    }
    return result;
}

static inline const char *argument(int argc, char **argv, int index)
{
    if (index >= argc) {
        fprintf(stderr, "argument %d is missing\n", index);
        exit(2);
    }
    return argv[index];
}

/* Copies up to one page from a descriptor to a new file. */
static inline void copy_out(int from, const char *to)
{
    char page[4096];
    ssize_t length = must("read", read(from, page, sizeof page));
    int out = must("create the copy", open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600));
    must("write the copy", write(out, page, length));
}
