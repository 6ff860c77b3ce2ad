/* poke ptrace|vm|mem PID ADDRESS: writes 2 into a word of another process. */
#include "attack.h"
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

static void by_ptrace(pid_t pid, unsigned long address)
{
    must("ptrace attach", ptrace(PTRACE_ATTACH, pid, NULL, NULL));
    must("waitpid", waitpid(pid, NULL, 0));
    must("ptrace poke", ptrace(PTRACE_POKEDATA, pid, (void *)address, (void *)2));
    must("ptrace detach", ptrace(PTRACE_DETACH, pid, NULL, NULL));
}

static void by_vm(pid_t pid, unsigned long address)
{
    long value = 2;
    struct iovec local = {&value, sizeof value}, remote = {(void *)address, sizeof value};
    must("process_vm_writev", process_vm_writev(pid, &local, 1, &remote, 1, 0));
}

static void by_mem(pid_t pid, unsigned long address)
{
    char path[64];
    long value = 2;
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    int memory = must("open mem", open(path, O_WRONLY));
    must("write mem", pwrite(memory, &value, sizeof value, (off_t)address));
}

int main(int argc, char **argv)
{
    const char *how = argument(argc, argv, 1);
    pid_t pid = atoi(argument(argc, argv, 2));
    unsigned long address = strtoul(argument(argc, argv, 3), NULL, 16);
    if (strcmp(how, "ptrace") == 0)
        by_ptrace(pid, address);
    else if (strcmp(how, "vm") == 0)
        by_vm(pid, address);
    else
        by_mem(pid, address);
    return 0;
}
