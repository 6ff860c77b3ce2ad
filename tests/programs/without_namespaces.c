/* Runs ARGV[1..] as a container's default filter does without CAP_SYS_ADMIN: unshare and clone with a new namespace answer
   EPERM, clone3 answers ENOSYS, and so do mount and pivot_root with EPERM. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET: clone(2). */
#define NAMESPACES 0x7e020000

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, field)
#define NUMBER offsetof(struct seccomp_data, nr)
#define FLAGS offsetof(struct seccomp_data, args)
#define ANSWER(call, errno) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (errno))

int main(int argc, char **argv)
{
	struct sock_filter filter[] = {
		LOAD(NUMBER),
		ANSWER(SYS_clone3, ENOSYS),
		ANSWER(SYS_mount, EPERM),
		ANSWER(SYS_pivot_root, EPERM),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
		LOAD(FLAGS),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NAMESPACES, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("without_namespaces");
		return 2;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 2;
}
