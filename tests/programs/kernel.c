/* kernel NAME: one rarely used kernel interface, called so that it does nothing. Prints the error number: 0, or what the
 * kernel itself objects to (a bad descriptor, a bad argument). */
#include "attack.h"
#include <linux/bpf.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>

static long by_bpf(void)
{
    union bpf_attr attributes = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
    return syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof attributes);
}

static long by_perf(void)
{
    struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE, .size = sizeof attributes, .config = PERF_COUNT_SW_DUMMY};
    return syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
}

static long call(const char *name)
{
    if (strcmp(name, "bpf") == 0)
        return by_bpf();
    if (strcmp(name, "perf_event_open") == 0)
        return by_perf();
    if (strcmp(name, "keyctl") == 0)
        return syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_PROCESS_KEYRING, 1);
    if (strcmp(name, "add_key") == 0)
        return syscall(SYS_add_key, "user", "confine-attack", "x", 1, KEY_SPEC_PROCESS_KEYRING);
    if (strcmp(name, "userfaultfd") == 0)
        return syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */);
    if (strcmp(name, "mount") == 0)
        return syscall(SYS_mount, "none", "/confine-no-such-directory", "tmpfs", 0, NULL);
    if (strcmp(name, "setns") == 0)
        return syscall(SYS_setns, -1, 0);
    exit(2);
}

int main(int argc, char **argv)
{
    long result = call(argument(argc, argv, 1));
    printf("%d\n", result < 0 ? errno : 0);
    return 0;
}
