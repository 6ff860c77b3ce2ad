/* Exits 0 where the 32-bit entry gives a socket (socketcall(SYS_SOCKET, AF_INET, SOCK_STREAM, 0)), else 1. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

int main(void)
{
	const unsigned int words[3] = { 2, 1, 0 };
	unsigned int *low = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	long answer;

	if (low == MAP_FAILED)
		return 2;
	memcpy(low, words, sizeof(words));
	__asm__ volatile("int $0x80"
			 : "=a"(answer)
			 : "0"(102L), "b"(1L), "c"((long)low)
			 : "memory", "r8", "r9", "r10", "r11");
	if ((int)answer >= 0)
		return 0;
	fprintf(stderr, "int 0x80: %d\n", (int)answer);
	return 1;
}
