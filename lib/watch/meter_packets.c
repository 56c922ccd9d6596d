/*
 * meter_packets - counts the packets of a command's sockets with two BPF programs on a control group.
 *
 * The programs are a few instructions each and are written out below, so that no compiler and no library is needed at
 * run time.  They see a packet from its IP header on, before it is segmented or after segments are joined.  gso_segs is
 * the number of segments, each of which has headers of its own on the wire.
 */
#include "watch/meter_in.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES, PACKETS, WIRE, COUNTS };

struct group {
	struct meter meter;		/* fd is cgroup.events, which says whether the group is populated */
	int	 status;		/* status of the command, -1 while it runs */
	int	 map, link[TRAFFIC_WAYS];
	uint64_t *count;		/* [TRAFFIC_WAYS][COUNTS], a page shared with the programs */
	char	 dir[PATH_MAX];
};

static int
call_bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* Instructions, with the names of linux/bpf.h.  R10 is the frame pointer, and the programs use the 8 bytes below it. */
#define INSN(c, d, s, o, i) \
	((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })
#define MOV(d, s)		INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define MOVI(d, i)		INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define ALU(op, d, s)		INSN(BPF_ALU64 | (op) | BPF_X, d, s, 0, 0)
#define ALUI(op, d, i)		INSN(BPF_ALU64 | (op) | BPF_K, d, 0, 0, i)
#define LOAD(size, d, s, o)	INSN(BPF_LDX | BPF_MEM | (size), d, s, o, 0)
#define JUMPI(op, d, i, o)	INSN(BPF_JMP | (op) | BPF_K, d, 0, o, i)
#define JUMP(op, d, s, o)	INSN(BPF_JMP | (op) | BPF_X, d, s, o, 0)
#define CALL(f)			INSN(BPF_JMP | BPF_CALL, 0, 0, 0, f)
#define ADD_TO(d, s, o)		INSN(BPF_STX | BPF_ATOMIC | BPF_DW, d, s, o, BPF_ADD)
/* Loads the packet's byte at R2 into R0.  at numbers the first instruction.  A shorter packet does not count. */
#define BYTE_AT_R2(at) \
	MOV(1, 6), MOV(3, 10), ALUI(BPF_ADD, 3, -8), MOVI(4, 1), CALL(BPF_FUNC_skb_load_bytes), \
	JUMPI(BPF_JNE, 0, 0, END - (at) - 6), LOAD(BPF_B, 0, 10, -8)
#define BYTE_LEN	7

/* Numbers of instructions. */
enum {
	VERSION = 2,
	V6 = VERSION + BYTE_LEN + 7,
	PROTO = V6 + 2,
	TCP = PROTO + BYTE_LEN + 2,
	UDP = TCP + 2 + BYTE_LEN + 4,
	COUNT = UDP + 1,
	END = COUNT + 15,
};

/* R6 packet, R7 its length, R8 length of its headers, R9 packets on the wire.  The result 1 lets the packet pass. */
static int
load_program(int map, enum traffic_way way)
{
	const int at = (int)(way * COUNTS * sizeof(uint64_t));
	const struct bpf_insn program[] = {
		MOV(6, 1),
		MOVI(2, 0),
		/* VERSION */
		BYTE_AT_R2(VERSION),
		MOV(8, 0),
		ALUI(BPF_RSH, 0, 4),
		JUMPI(BPF_JEQ, 0, 6, V6 - (VERSION + BYTE_LEN + 3)),
		ALUI(BPF_AND, 8, 15),
		ALUI(BPF_LSH, 8, 2),
		MOVI(2, 9),
		JUMPI(BPF_JA, 0, 0, PROTO - V6),
		/* V6 */
		MOVI(8, 40),
		MOVI(2, 6),
		/* PROTO */
		BYTE_AT_R2(PROTO),
		JUMPI(BPF_JEQ, 0, 17, UDP - (PROTO + BYTE_LEN + 1)),
		JUMPI(BPF_JNE, 0, 6, COUNT - TCP),
		/* TCP: the upper half of byte 12 is the length of the header in words of 4 */
		MOV(2, 8),
		ALUI(BPF_ADD, 2, 12),
		BYTE_AT_R2(TCP + 2),
		ALUI(BPF_RSH, 0, 4),
		ALUI(BPF_LSH, 0, 2),
		ALU(BPF_ADD, 8, 0),
		JUMPI(BPF_JA, 0, 0, COUNT - UDP),
		/* UDP */
		ALUI(BPF_ADD, 8, 8),
		/* COUNT */
		LOAD(BPF_W, 7, 6, offsetof(struct __sk_buff, len)),
		LOAD(BPF_W, 9, 6, offsetof(struct __sk_buff, gso_segs)),
		JUMPI(BPF_JNE, 9, 0, 1),
		MOVI(9, 1),
		JUMP(BPF_JLT, 7, 8, END - (COUNT + 5)),
		INSN(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_VALUE, 0, map),
		INSN(0, 0, 0, 0, at),
		MOV(2, 7),
		ALU(BPF_SUB, 2, 8),
		ADD_TO(1, 2, BYTES * 8),
		ADD_TO(1, 9, PACKETS * 8),
		ALUI(BPF_SUB, 9, 1),
		ALU(BPF_MUL, 9, 8),
		ALU(BPF_ADD, 9, 7),
		ADD_TO(1, 9, WIRE * 8),
		/* END */
		MOVI(0, 1),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_CGROUP_SKB,
		.expected_attach_type = way == TRAFFIC_RX ? BPF_CGROUP_INET_INGRESS : BPF_CGROUP_INET_EGRESS,
		.insns = (uintptr_t)program,
		.insn_cnt = sizeof(program) / sizeof(*program),
		.license = (uintptr_t)"Dual BSD/GPL",
	};

	_Static_assert(sizeof(program) / sizeof(*program) == END + 2, "the numbers of instructions are wrong");
	return call_bpf(BPF_PROG_LOAD, &attr);
}

/* Gives the folder of this process's control group in the v2 hierarchy.  Returns 0 or ERR_NOTSUP. */
static int
find_own_group(char dir[PATH_MAX])
{
	char line[PATH_MAX * 2], root[PATH_MAX], mount[PATH_MAX], path[PATH_MAX] = "";
	bool found = false;
	size_t n;
	FILE *f;

	if ((f = fopen("/proc/self/cgroup", "re")) != NULL) {
		while (fgets(line, sizeof(line), f) != NULL)
			if (sscanf(line, "0::%4095s", path) == 1)
				break;
		fclose(f);
	}
	/* 36 35 98:0 /root /mount/point options - cgroup2 ... (proc_pid_mountinfo(5)) */
	if (path[0] == '/' && (f = fopen("/proc/self/mountinfo", "re")) != NULL) {
		while (!found && fgets(line, sizeof(line), f) != NULL)
			found = strstr(line, " - cgroup2 ") != NULL &&
			    sscanf(line, "%*s %*s %*s %4095s %4095s", root, mount) == 2;
		fclose(f);
	}
	if (!found)
		return err_fail(ERR_NOTSUP, "no control groups, version 2");
	n = strcmp(root, "/") == 0 ? 0 : strlen(root);
	if (strncmp(path, root, n) != 0 || (path[n] != 0 && path[n] != '/') || strstr(path, "/..") != NULL)
		return err_fail(ERR_NOTSUP, "this process's control group is not mounted here");
	if (snprintf(dir, PATH_MAX, "%s%s", mount, path + n) >= PATH_MAX)
		return err_fail(ERR_NOTSUP, "the path of the control group is too long");
	return 0;
}

static int
open_group_file(const struct group *g, const char *name, int flags)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/%s", g->dir, name);
	return open(path, flags | O_CLOEXEC);
}

/* Moves remaining processes to the parent group, so that this one can be removed. */
static void
remove_group(const struct group *g)
{
	char path[PATH_MAX + 32], pid[32];
	FILE *in;
	int fd;

	snprintf(path, sizeof(path), "%s/../cgroup.procs", g->dir);
	if (rmdir(g->dir) == 0 || (fd = open(path, O_WRONLY | O_CLOEXEC)) < 0)
		return;
	snprintf(path, sizeof(path), "%s/cgroup.procs", g->dir);
	if ((in = fopen(path, "re")) != NULL) {
		while (fgets(pid, sizeof(pid), in) != NULL)
			if (write(fd, pid, strlen(pid)) < 0)
				continue;	/* it has ended */
		fclose(in);
	}
	close(fd);
	rmdir(g->dir);
}

static void
close_group(struct meter *m)
{
	struct group *g = (struct group *)m;
	int fd[] = { g->map, m->fd, g->link[TRAFFIC_RX], g->link[TRAFFIC_TX] };

	for (size_t i = 0; i < sizeof(fd) / sizeof(*fd); i++)
		if (fd[i] >= 0)
			close(fd[i]);
	if (g->count != NULL)
		munmap(g->count, (size_t)sysconf(_SC_PAGESIZE));
	if (g->dir[0] != 0)
		remove_group(g);
	free(g);
}

static int
map_counters(struct group *g)
{
	union bpf_attr map = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = TRAFFIC_WAYS * COUNTS * sizeof(uint64_t),
		.max_entries = 1, .map_flags = BPF_F_MMAPABLE,
	};

	if ((g->map = call_bpf(BPF_MAP_CREATE, &map)) < 0)
		return err_sys("BPF_MAP_CREATE");
	g->count = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, g->map, 0);
	if (g->count == MAP_FAILED) {
		g->count = NULL;
		return err_sys("mmap of a BPF map");
	}
	return 0;
}

static int
attach_program(struct group *g, int dir, enum traffic_way way)
{
	union bpf_attr link = {
		.link_create.target_fd = (uint32_t)dir,
		.link_create.attach_type = way == TRAFFIC_RX ? BPF_CGROUP_INET_INGRESS : BPF_CGROUP_INET_EGRESS,
	};
	int prog = load_program(g->map, way), e = 0;

	if (prog < 0)
		return err_sys("BPF_PROG_LOAD");
	link.link_create.prog_fd = (uint32_t)prog;
	if ((g->link[way] = call_bpf(BPF_LINK_CREATE, &link)) < 0)
		e = err_sys("BPF_LINK_CREATE");
	close(prog);
	return e;
}

static int
make_group(struct group *g)
{
	size_t n;
	int dir, e = 0;

	if ((e = find_own_group(g->dir)) < 0) {
		g->dir[0] = 0;
		return e;
	}
	n = strlen(g->dir);
	if (snprintf(g->dir + n, PATH_MAX - n, "/tally.XXXXXX") >= (int)(PATH_MAX - n) || mkdtemp(g->dir) == NULL) {
		e = errno;
		g->dir[0] = 0;
		return err_fail(ERR_NOTSUP, "a control group: %s", strerror(e));
	}
	if ((dir = open(g->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0 || map_counters(g) < 0 ||
	    attach_program(g, dir, TRAFFIC_RX) < 0 || attach_program(g, dir, TRAFFIC_TX) < 0 ||
	    (g->meter.fd = open_group_file(g, "cgroup.events", O_RDONLY)) < 0)
		e = err_fail(ERR_NOTSUP, "BPF on a control group: %s", strerror(errno));
	if (dir >= 0)
		close(dir);
	return e;
}

static bool
enter_group(const void *ctx)
{
	int fd = *(const int *)ctx;

	return write(fd, "0", 1) == 1;
}

static int
start_packets(const struct meter_opt *opt, struct meter **m)
{
	struct group *g = malloc(sizeof(*g));
	struct meter_child c;
	int e, procs = -1;

	if (g == NULL)
		return err_nomem();
	*g = (struct group){ .meter = { &meter_packets, -1, -1, NULL }, .status = -1, .map = -1, .link = { -1, -1 } };
	e = make_group(g);
	if (e == 0 && (procs = open_group_file(g, "cgroup.procs", O_WRONLY)) < 0)
		e = err_fail(ERR_NOTSUP, "a control group: %s", strerror(errno));
	if (e == 0 && (e = meter_fork(opt, enter_group, &procs, &c)) == 0 && (e = meter_go(opt, &c)) < 0) {
		int why = errno;

		waitpid(c.pid, NULL, 0);
		errno = why;
	}
	if (procs >= 0)
		close(procs);
	if (e < 0) {
		int why = errno;

		close_group(&g->meter);
		errno = why;
		return e;
	}
	g->meter.pid = c.pid;
	*m = &g->meter;
	return 0;
}

static bool
have_packets_ended(struct meter *m, int *status)
{
	struct group *g = (struct group *)m;
	char text[256];
	bool empty;
	ssize_t n;

	/* Reading clears the event. */
	n = pread(m->fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = 0;
	empty = strstr(text, "populated 1") == NULL;
	/* A process leaves its group shortly before it can be reaped. */
	if (g->status < 0 && waitpid(m->pid, status, empty ? 0 : WNOHANG) == m->pid)
		g->status = *status;
	*status = g->status;
	return empty && g->status >= 0;
}

static void
read_packet_count(const struct meter *m, struct traffic *t)
{
	const struct group *g = (const struct group *)m;

	for (int w = 0; w < TRAFFIC_WAYS; w++) {
		const volatile uint64_t *count = g->count + w * COUNTS;

		t->bytes[w] = count[BYTES];
		t->packets[w] = count[PACKETS];
		t->wire[w] = count[WIRE];
	}
}

const struct meter_method meter_packets = { start_packets, close_group, have_packets_ended, read_packet_count };
