/* setid HOW PATH: leaves a file (or a directory) with a set-id bit by one of the calls that take a mode. */
#include "attack.h"
#include <linux/openat2.h>

#define SETUID_FILE 04755
#define SETGID_DIRECTORY 02755

static int fresh(const char *path)
{
    return must("create", open(path, O_WRONLY | O_CREAT, 0755));
}

static long by_openat2(const char *path)
{
    struct open_how how = {.flags = O_WRONLY | O_CREAT, .mode = SETUID_FILE};
    return syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

static long leave(const char *how, const char *path)
{
    umask(0);
    if (strcmp(how, "open") == 0)
        return syscall(SYS_open, path, O_WRONLY | O_CREAT, SETUID_FILE);
    if (strcmp(how, "openat") == 0)
        return syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT, SETUID_FILE);
    if (strcmp(how, "openat2") == 0)
        return by_openat2(path);
    if (strcmp(how, "creat") == 0)
        return syscall(SYS_creat, path, SETUID_FILE);
    if (strcmp(how, "mknod") == 0)
        return syscall(SYS_mknod, path, S_IFREG | SETUID_FILE, 0);
    if (strcmp(how, "mknodat") == 0)
        return syscall(SYS_mknodat, AT_FDCWD, path, S_IFREG | SETUID_FILE, 0);
    if (strcmp(how, "mkdir") == 0)
        return syscall(SYS_mkdir, path, SETGID_DIRECTORY) | syscall(SYS_chmod, path, SETGID_DIRECTORY);
    int fd = fresh(path);
    if (strcmp(how, "chmod") == 0)
        return syscall(SYS_chmod, path, SETUID_FILE);
    if (strcmp(how, "fchmod") == 0)
        return syscall(SYS_fchmod, fd, SETUID_FILE);
    if (strcmp(how, "fchmodat") == 0)
        return syscall(SYS_fchmodat, AT_FDCWD, path, SETUID_FILE);
    if (strcmp(how, "fchmodat2") == 0)
        return syscall(452, AT_FDCWD, path, SETUID_FILE, 0);
    exit(2);
}

int main(int argc, char **argv)
{
    const char *how = argument(argc, argv, 1);
    must(how, leave(how, argument(argc, argv, 2)));
    return 0;
}
