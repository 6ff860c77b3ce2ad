/* namespace unshare|clone|clone3: makes a user namespace, and says whether it is really another one. */
#include "attack.h"
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

static ino_t current(void)
{
    struct stat state;
    must("stat", stat("/proc/self/ns/user", &state));
    return state.st_ino;
}

static int child_of(long pid, ino_t before)
{
    int status;
    if (pid == 0)
        _exit(current() == before);
    must("waitpid", waitpid((pid_t)pid, &status, 0));
    return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int argc, char **argv)
{
    const char *how = argument(argc, argv, 1);
    ino_t before = current();
    if (strcmp(how, "unshare") == 0) {
        must("unshare", unshare(CLONE_NEWUSER));
        return current() == before;
    }
    if (strcmp(how, "clone") == 0)
        return child_of(must("clone", syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0)), before);
    struct clone_args arguments = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
    return child_of(must("clone3", syscall(SYS_clone3, &arguments, sizeof arguments)), before);
}
