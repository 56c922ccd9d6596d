/*
 * meter_calls - counts the bytes that a command's calls move over internet sockets.
 *
 * A seccomp filter stops the command only at calls that can move bytes over a socket, and ptrace(2) examines them.
 * pidfd_getfd(2) gives a copy of the descriptor, which tells whether it is an internet socket.  If so, the result of
 * the call is added when it returns.  All this runs in a thread of its own, since a traced process answers only the
 * thread that attached to it.
 */
#include "watch/meter_in.h"

#include "base/err.h"
#include "base/threads.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define PID_LIMIT	(1 << 22)	/* most thread IDs of 64-bit kernels, include/linux/threads.h */
#define MESSAGES	1024		/* most in one call, UIO_MAXIOV */
#define X32		0x40000000u	/* flag of x32 call numbers (asm/unistd.h) */
#define OPTIONS		(PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEFORK | \
			 PTRACE_O_TRACESECCOMP | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEVFORK)

/* A call that a thread is in. */
struct call {
	uint64_t messages;	/* address of the mmsghdr array of recvmmsg(2) or sendmmsg(2), or 0 */
	uint8_t	 way;		/* 1 + enum traffic_way, or 0 if the thread is in no call that counts */
};

struct calls {
	struct meter meter;
	const struct meter_opt *opt;	/* valid until the command runs */
	uint32_t arch;
	pthread_t thread;
	struct call *call;		/* [PID_LIMIT] by thread ID; the kernel allocates only pages in use */
	_Atomic uint64_t bytes[TRAFFIC_WAYS];
	_Atomic int status;		/* status of the command, -1 while it runs */
	_Atomic bool over;		/* all processes have ended */
	_Atomic bool foreign;		/* a program of another architecture made a call */
	struct meter_child child;
	sem_t	 ready;			/* started and why are set */
	int	 started;		/* 0 or an error */
	char	 why[ERR_LINE];
};

/* The calls that count. */
static const struct counted_call {
	int	 nr;
	enum traffic_way way;
	int	 fd, flags;	/* which arguments these are, or -1 */
	bool	 many;		/* the call moves several messages */
} counted[] = {
	{ SYS_read, TRAFFIC_RX, 0, -1, false },
	{ SYS_readv, TRAFFIC_RX, 0, -1, false },
	{ SYS_preadv2, TRAFFIC_RX, 0, -1, false },
	{ SYS_recvfrom, TRAFFIC_RX, 0, 3, false },
	{ SYS_recvmsg, TRAFFIC_RX, 0, 2, false },
	{ SYS_recvmmsg, TRAFFIC_RX, 0, 3, true },
	{ SYS_splice, TRAFFIC_RX, 0, -1, false },
	{ SYS_splice, TRAFFIC_TX, 2, -1, false },
	{ SYS_write, TRAFFIC_TX, 0, -1, false },
	{ SYS_writev, TRAFFIC_TX, 0, -1, false },
	{ SYS_pwritev2, TRAFFIC_TX, 0, -1, false },
	{ SYS_sendto, TRAFFIC_TX, 0, -1, false },
	{ SYS_sendmsg, TRAFFIC_TX, 0, -1, false },
	{ SYS_sendmmsg, TRAFFIC_TX, 0, -1, true },
	{ SYS_sendfile, TRAFFIC_TX, 0, -1, false },
};
#define COUNTED	(sizeof(counted) / sizeof(*counted))

static int
find_own_arch(uint32_t *arch)
{
	static const struct { const char *name; uint32_t arch; } known[] = {
		{ "x86_64", AUDIT_ARCH_X86_64 }, { "aarch64", AUDIT_ARCH_AARCH64 }, { "riscv64", AUDIT_ARCH_RISCV64 },
		{ "ppc64le", AUDIT_ARCH_PPC64LE }, { "s390x", AUDIT_ARCH_S390X },
	};
	struct utsname u;

	uname(&u);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(u.machine, known[i].name) == 0) {
			*arch = known[i].arch;
			return 0;
		}
	return err_fail(ERR_NOTSUP, "calls cannot be traced on %s", u.machine);
}

/* Runs in the child.  io_uring moves bytes without calls, so the filter refuses it. */
static bool
install_call_filter(const void *ctx)
{
	const struct calls *c = ctx;
	struct sock_filter f[COUNTED + 8], *p = f;
	struct sock_fprog program = { .filter = f };
	const uint8_t trace = COUNTED + 4;	/* distance from the third instruction to the last, which stops */

	*p++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
	*p++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, c->arch, 0, trace + 1);
	*p++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	*p++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32, trace - 1, 0);
	for (size_t i = 0; i < COUNTED; i++)
		*p++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)counted[i].nr,
		    (uint8_t)(trace - 2 - i), 0);
	*p++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1);
	*p++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
	*p++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	*p++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
	program.len = (unsigned short)(p - f);
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* The process of a thread. */
static pid_t
find_process(pid_t tid)
{
	char path[64], line[128];
	int tgid = tid;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/status", (long)tid);
	if ((f = fopen(path, "re")) == NULL)
		return tid;
	while (fgets(line, sizeof(line), f) != NULL && sscanf(line, "Tgid: %d", &tgid) != 1)
		;
	fclose(f);
	return tgid;
}

static bool
is_internet_socket(pid_t tid, int theirs)
{
	int pidfd = (int)syscall(SYS_pidfd_open, tid, 0), fd, domain = AF_UNSPEC;
	socklen_t n = sizeof(domain);

	/* tid is not its process's first thread: EINVAL, or ENOENT from newer kernels. */
	if (pidfd < 0 && (errno == EINVAL || errno == ENOENT))
		pidfd = (int)syscall(SYS_pidfd_open, find_process(tid), 0);
	if (pidfd < 0)
		return false;
	fd = (int)syscall(SYS_pidfd_getfd, pidfd, theirs, 0);
	close(pidfd);
	if (fd < 0)
		return false;
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) < 0)
		domain = AF_UNSPEC;
	close(fd);
	return domain == AF_INET || domain == AF_INET6;
}

/* A thread is about to make a call.  Returns whether its result counts. */
static bool
begin_call(struct calls *c, pid_t tid)
{
	struct __ptrace_syscall_info info;

	c->call[tid].way = 0;
	if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) <= 0 || info.op != PTRACE_SYSCALL_INFO_SECCOMP)
		return false;
	if (info.arch != c->arch || info.seccomp.nr >= X32) {
		c->foreign = true;
		return false;
	}
	for (const struct counted_call *m = counted; m < counted + COUNTED; m++) {
		const uint64_t *arg = info.seccomp.args;

		/* Peeked bytes are received again, and the error queue holds bytes that were sent. */
		if ((int)info.seccomp.nr != m->nr || (m->flags >= 0 &&
		    (arg[m->flags] & (MSG_PEEK | MSG_ERRQUEUE)) != 0) ||
		    !is_internet_socket(tid, (int)arg[m->fd]))
			continue;
		c->call[tid] = (struct call){ .messages = m->many ? arg[1] : 0, .way = (uint8_t)(m->way + 1) };
		return true;
	}
	return false;
}

/* Sums the lengths of n messages at an address of the thread's memory. */
static uint64_t
sum_message_lengths(pid_t tid, uint64_t at, int64_t n)
{
	struct mmsghdr m[MESSAGES];
	uint64_t sum = 0;
	struct iovec ours = { m, (size_t)n * sizeof(*m) }, theirs = { (void *)(uintptr_t)at, (size_t)n * sizeof(*m) };

	if (n > MESSAGES || process_vm_readv(tid, &ours, 1, &theirs, 1, 0) != (ssize_t)ours.iov_len)
		return 0;
	for (int64_t i = 0; i < n; i++)
		sum += m[i].msg_len;
	return sum;
}

static void
end_call(struct calls *c, pid_t tid)
{
	struct __ptrace_syscall_info info;
	struct call *call = &c->call[tid];

	if (call->way > 0 && ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) > 0 &&
	    info.op == PTRACE_SYSCALL_INFO_EXIT && !info.exit.is_error && info.exit.rval > 0)
		c->bytes[call->way - 1] += call->messages != 0 ?
		    sum_message_lengths(tid, call->messages, info.exit.rval) :
		    (uint64_t)info.exit.rval;
	call->way = 0;
}

/* Handles a stop of a thread and lets the thread continue. */
static void
resume_thread(struct calls *c, pid_t tid, int status)
{
	int signo = WSTOPSIG(status), event = status >> 16;

	if (event == PTRACE_EVENT_SECCOMP) {
		ptrace(begin_call(c, tid) ? PTRACE_SYSCALL : PTRACE_CONT, tid, 0, 0);
	} else if (event == PTRACE_EVENT_STOP && signo != SIGTRAP) {
		ptrace(PTRACE_LISTEN, tid, 0, 0);	/* a signal, as from a terminal, stopped it: it stays so */
	} else if (signo == (SIGTRAP | 0x80)) {
		end_call(c, tid);
		ptrace(PTRACE_CONT, tid, 0, 0);
	} else {
		ptrace(PTRACE_CONT, tid, 0, event != 0 ? 0 : signo);
	}
}

static void
notify_meter(struct calls *c)
{
	uint64_t one = 1;

	(void)!write(c->meter.fd, &one, sizeof(one));
}

/* Returns when the last process has ended.  The end of this thread kills the others (PTRACE_O_EXITKILL). */
static void
trace_until_exit(struct calls *c)
{
	int status, old;
	pid_t tid;

	for (;;) {
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
		tid = waitpid(-1, &status, __WALL);
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
		if (tid < 0 && errno == EINTR)
			continue;
		if (tid < 0 || tid >= PID_LIMIT)
			return;
		if (WIFSTOPPED(status)) {
			resume_thread(c, tid, status);
		} else if (tid == c->meter.pid) {
			c->status = status;
			notify_meter(c);
		}
	}
}

static void *
run_tracer(void *arg)
{
	struct calls *c = arg;
	int old;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	if ((c->started = meter_fork(c->opt, install_call_filter, c, &c->child)) == 0 &&
	    ptrace(PTRACE_SEIZE, c->child.pid, 0, OPTIONS) < 0) {
		c->started = err_fail(ERR_NOTSUP, "ptrace: %s", strerror(errno));
		meter_drop(&c->child);
	}
	c->meter.pid = c->child.pid;
	snprintf(c->why, sizeof(c->why), "%s", c->started < 0 ? err_line() : "");
	sem_post(&c->ready);
	if (c->started == 0)
		trace_until_exit(c);
	c->over = true;
	notify_meter(c);
	return NULL;
}

static int
start_tracer(struct calls *c)
{
	int e = pthread_create(&c->thread, NULL, run_tracer, c);

	if (e != 0) {
		c->thread = 0;
		return threads_fail(e, "calls of the system");
	}
	while (sem_wait(&c->ready) < 0)
		;
	if (c->started < 0)
		return err_fail(c->started, "%s", c->why);
	/* The tracer must run while the child starts, so this thread waits for the exec. */
	return meter_go(c->opt, &c->child);
}

static void
close_calls(struct meter *m)
{
	struct calls *c = (struct calls *)m;

	if (c->thread != 0) {
		pthread_cancel(c->thread);
		pthread_join(c->thread, NULL);
	}
	if (c->meter.fd >= 0)
		close(c->meter.fd);
	sem_destroy(&c->ready);
	free(c->call);
	free(c);
}

static int
start_calls(const struct meter_opt *opt, struct meter **m)
{
	struct calls *c = calloc(1, sizeof(*c));
	int e, why;

	if (c == NULL)
		return err_nomem();
	c->opt = opt;
	c->status = -1;
	sem_init(&c->ready, 0, 0);
	c->meter.method = &meter_calls;
	c->meter.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	c->call = calloc(PID_LIMIT, sizeof(*c->call));
	if (c->call == NULL)
		e = err_nomem();
	else if (c->meter.fd < 0)
		e = err_sys("eventfd");
	else if ((e = find_own_arch(&c->arch)) == 0)
		e = start_tracer(c);
	if (e < 0) {
		why = errno;
		close_calls(&c->meter);
		errno = why;
		return e;
	}
	*m = &c->meter;
	return 0;
}

static bool
have_calls_ended(struct meter *m, int *status)
{
	struct calls *c = (struct calls *)m;
	uint64_t n;
	bool over;

	(void)!read(m->fd, &n, sizeof(n));
	over = c->over;		/* first: the tracer sets it after everything else */
	if (c->foreign)
		m->missed = "a program of another architecture ran, uncounted";
	*status = c->status;
	return over;
}

static void
read_call_count(const struct meter *m, struct traffic *t)
{
	const struct calls *c = (const struct calls *)m;

	for (int w = 0; w < TRAFFIC_WAYS; w++) {
		t->bytes[w] = c->bytes[w];
		t->packets[w] = t->wire[w] = TRAFFIC_NONE;
	}
}

const struct meter_method meter_calls = { start_calls, close_calls, have_calls_ended, read_call_count };
