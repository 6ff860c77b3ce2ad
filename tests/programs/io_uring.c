/* Exits 0 where an io_uring can be set up, else says why and exits 1. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	char params[256];

	memset(params, 0, sizeof(params));
	if (syscall(SYS_io_uring_setup, 4, params) >= 0)
		return 0;
	fprintf(stderr, "io_uring_setup: %s\n", strerror(errno));
	return 1;
}
