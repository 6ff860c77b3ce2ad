/* victim: prints its process id and the address of a word, waits for a line (or the end) of its input, and prints the
 * word: 1 unless someone changed it. */
#include "attack.h"
#include <sys/prctl.h>

static volatile long word = 1;

int main(void)
{
    char line[16];
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    printf("%d %lx\n", getpid(), (unsigned long)&word);
    fflush(stdout);
    (void)!read(0, line, sizeof line);
    printf("%ld\n", word);
    return 0;
}
