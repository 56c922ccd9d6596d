/* proc - one process of a job on this host, from its start to its end. */
#include "run/agent/proc.h"

#include "base/clk.h"
#include "base/err.h"
#include "base/io.h"
#include "ps/mailbox.h"
#include "ps/memory.h"
#include "run/child.h"
#include "run/here.h"
#include "run/agent/shim.h"
#include "run/session.h"
#include "wire/addr.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HOUR_S		3600.0
#define ORPHAN_MS	2000	/* time for a command that SIGKILL does not end at once */

static bool
has_input(const struct job *j, const struct job_child *c)
{
	return j->input && c->role == JOB_WORKER && c->rank == 0;
}

void
proc_init(struct proc *p, const struct job *j, uint32_t i, const char *agent, double hold_s)
{
	*p = (struct proc){ .child = j->child[i], .ready = -1, .in = { .fd = -1 }, .shim = -1, .listen_fd = -1,
	    .memory_fd = -1, .shard_fd = -1, .mailbox_fd = -1, .attach_fd = -1, .hold_s = hold_s };
	/* Input that an agent has read is lost with it. */
	if (*agent != 0 && !has_input(j, &p->child))
		snprintf(p->name, sizeof(p->name), "%s/%u", agent, i);
}

static void
close_input(struct proc *p)
{
	if (p->in.fd >= 0)
		close(p->in.fd);
	outq_free(&p->in);
	p->in.fd = -1;
}

void
proc_close_pipes(struct proc *p)
{
	for (int i = 0; i < 2; i++) {
		lines_close(p->line[i]);
		p->line[i] = NULL;
	}
	if (p->ready >= 0)
		close(p->ready);
	p->ready = -1;
	close_input(p);
}

void
proc_free(struct proc *p)
{
	proc_close_pipes(p);
	if (p->shim >= 0)
		shim_release(p->shim);
	if (p->listen_fd >= 0)
		close(p->listen_fd);
	if (p->memory_fd >= 0)
		close(p->memory_fd);
	if (p->shard_fd >= 0)
		close(p->shard_fd);
	if (p->mailbox_fd >= 0)
		close(p->mailbox_fd);
	if (p->attach_fd >= 0)
		close(p->attach_fd);
	p->shim = p->listen_fd = p->memory_fd = p->shard_fd = p->mailbox_fd = p->attach_fd = -1;
}

int
proc_starts_first(const struct job *j, const struct proc *p)
{
	return p->child.role == JOB_SCHEDULER || (p->child.role == JOB_SERVER && !j->dmlc);
}

/* The key goes through a pipe, so that no argument, environment or file shows it. */
static int
make_key_pipe(const struct job *j, int *fd)
{
	int pair[2], e;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_sys("pipe");
	if ((e = io_write(pair[1], j->key, strlen(j->key))) == 0)
		e = io_write(pair[1], "\n", 1);
	close(pair[1]);
	*fd = pair[0];
	return e;
}

static int
spawn_process(struct proc *p, const struct job *j, const struct role_place *at)
{
	const int all[] = { at->key_fd, at->ready_fd, at->listen_fd, at->memory_fd, at->shard_fd,
		p->mailbox_fd };
	/*
	 * The servers wait for the successor of a worker, which must not end before it has said goodbye.  A server that
	 * starts must not miss that a worker joins.
	 */
	const bool server = p->child.role == JOB_SERVER, returns = p->child.role == JOB_WORKER && p->again > 0;
	const bool signalled = returns && p->leaving;
	struct shim_opt shim = { .key = j->key, .hold_s = p->hold_s, .before = p->shim,
		.passed = signalled ? 1ull << SIGUSR1 : 0,
		.fd = { [SHIM_READY] = p->ready, [SHIM_LISTEN] = p->listen_fd, [SHIM_MEMORY] = p->memory_fd,
		    [SHIM_SHARD] = p->shard_fd, [SHIM_MAILBOX] = p->mailbox_fd, [SHIM_ATTACH] = p->attach_fd },
		.page = { .started_at = p->started_at, .hour_at = p->hour_at, .again = p->again } };
	int keep[7], n = 0;
	struct words argv = { 0 }, env = { 0 };
	struct child c;
	int e;

	snprintf(shim.page.listen, sizeof(shim.page.listen), "%s", p->listen);
	for (int i = 0; i < 6; i++)
		if (all[i] >= 0)
			keep[n++] = all[i];
	keep[n] = -1;
	if ((e = role_argv(j, &p->child, at, &argv)) == 0 && (e = role_env(j, &p->child, at, &env)) == 0)
		e = child_start(&(struct child_opt){ .argv = argv.v, .env = env.v, .inherit = keep, .death = SIGKILL,
		    .shim = &shim, .has_in = has_input(j, &p->child), .held = j->elastic == 0 ? 0 :
		    server ? SIGURG : returns ? SIGUSR1 : 0, .signalled = signalled }, &c);
	words_free(&argv);
	words_free(&env);
	if (e < 0)
		return e;
	if (p->shim >= 0)
		close(p->shim);	/* the new shim has released the one before */
	p->shim = c.shim;
	p->adopted = false;
	p->passed = 0;
	p->pid = c.pid;
	p->command = c.command;
	p->state = PROC_RUNNING;
	p->in.fd = c.in;
	p->line[0] = lines_open(c.out);
	p->line[1] = lines_open(c.err);
	/* Its end is then reported like that of any other process. */
	if (p->line[0] == NULL || p->line[1] == NULL)
		shim_signal(p->pid, SIGKILL);
	return 0;
}

/* A scheduler made for dmlc cannot choose its port; it gets one that is reserved until just before its start. */
static int
spawn_scheduler(struct proc *p, const struct job *j, struct role_place *at)
{
	unsigned port;
	int fd;

	ERR_TRY(here_port(&fd, &port));
	snprintf(p->addr, sizeof(p->addr), "%s:%u", at->addr, port);
	at->go = p->addr;
	close(fd);
	return spawn_process(p, j, at);
}

/* Opens a memory that outlives a process. */
static int
keep_memory(int *fd, const char *name)
{
	if (*fd < 0 && (*fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)) < 0)
		return err_sys("memfd_create");
	return 0;
}

static int
open_listener(struct proc *p, const char *host)
{
	char any[PROC_ADDR];

	snprintf(any, sizeof(any), "%s:0", host);
	return addr_listen(any, &p->listen_fd, p->listen);
}

int
proc_listen(struct proc *p, const char *host)
{
	ERR_TRY(open_listener(p, host));
	snprintf(p->addr, sizeof(p->addr), "%s", p->listen);
	return 0;
}

/* Opens what outlives a server. */
static int
keep_server(struct proc *p, const char *host)
{
	ERR_TRY(open_listener(p, host));
	return keep_memory(&p->memory_fd, "tally-server");
}

/* Data from its standard input cannot be repeated: then a worker keeps nothing. */
static int
spawn_worker(struct proc *p, const struct job *j, struct role_place *at)
{
	const bool shards = job_has_shards(j->dmlc, j->servers, j->workers);
	bool keeps = j->respawn > 0 && (j->servers > 0 || shards) && !j->dmlc && !has_input(j, &p->child);
	int e = keeps ? keep_memory(&p->memory_fd, "tally-worker") : 0;

	if (e == 0 && keeps && shards)
		e = keep_memory(&p->shard_fd, "tally-server");
	if (e == 0 && p->child.rank == 0 && !j->dmlc && p->mailbox_fd < 0)
		e = mailbox_make(&p->mailbox_fd);
	at->memory_fd = p->memory_fd;
	at->listen_fd = p->listen_fd;
	at->shard_fd = p->shard_fd;
	at->mailbox_fd = p->mailbox_fd;
	return e == 0 ? spawn_process(p, j, at) : e;
}

static int
spawn_server(struct proc *p, const struct job *j, struct role_place *at)
{
	int pair[2], e;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_sys("pipe");
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	at->ready_fd = pair[1];
	p->ready = pair[0];
	e = j->respawn > 0 && p->listen_fd < 0 ? keep_server(p, at->addr) : 0;
	at->listen_fd = p->listen_fd;
	at->memory_fd = p->memory_fd;
	at->listen = p->listen_fd >= 0 ? p->listen : NULL;
	if (e == 0)
		e = spawn_process(p, j, at);
	close(pair[1]);
	return e;
}

int
proc_start(struct proc *p, const struct job *j, const struct role_place *place)
{
	struct role_place at = *place;
	int e = 0;

	at.key_fd = at.ready_fd = at.listen_fd = at.memory_fd = at.shard_fd = -1;
	if (p->started_at == 0)
		p->started_at = clk_s();
	if (*p->name != 0 && p->attach_fd < 0)
		ERR_TRY(attach_hold(p->name, &p->attach_fd));
	if (j->key[0] != 0)
		e = make_key_pipe(j, &at.key_fd);
	if (e == 0 && p->child.role == JOB_SCHEDULER)
		e = spawn_scheduler(p, j, &at);
	else if (e == 0 && proc_starts_first(j, p))
		e = spawn_server(p, j, &at);
	else if (e == 0)
		e = spawn_worker(p, j, &at);
	if (at.key_fd >= 0)
		close(at.key_fd);
	return e;
}

void
proc_stop_listening(const struct proc *p)
{
	if (p->listen_fd >= 0)
		(void)shutdown(p->listen_fd, SHUT_RDWR);
}

void
proc_renew(struct proc *p)
{
	struct proc new = { .child = p->child, .ready = -1, .in = { .fd = -1 }, .pid = p->pid, .shim = p->shim,
	    .listen_fd = -1, .memory_fd = -1, .shard_fd = -1, .mailbox_fd = -1, .attach_fd = p->attach_fd,
	    .hold_s = p->hold_s };

	memcpy(new.name, p->name, sizeof(new.name));
	p->shim = p->attach_fd = -1;	/* its next shim releases this one */
	proc_free(p);
	*p = new;
}

int
proc_adopt(struct proc *p, char key[JOB_KEY + 1])
{
	struct shim_orphan o;

	ERR_TRY(*p->name != 0 ? shim_adopt(p->name, &p->shim, &o) : err_fail(ERR_PEER, "no shim"));
	p->pid = o.shim;
	p->command = o.command;
	p->passed = o.passed;
	p->adopted = true;
	p->state = PROC_RUNNING;
	p->started_at = o.page.started_at;
	p->hour_at = o.page.hour_at;
	p->again = o.page.again;
	p->line[0] = lines_open(o.fd[SHIM_OUT]);
	p->line[1] = lines_open(o.fd[SHIM_ERR]);
	p->ready = o.fd[SHIM_READY];
	p->listen_fd = o.fd[SHIM_LISTEN];
	p->memory_fd = o.fd[SHIM_MEMORY];
	p->shard_fd = o.fd[SHIM_SHARD];
	p->mailbox_fd = o.fd[SHIM_MAILBOX];
	p->attach_fd = o.fd[SHIM_ATTACH];
	snprintf(p->listen, sizeof(p->listen), "%s", o.page.listen);
	memcpy(key, o.key, sizeof(o.key));
	explicit_bzero(o.key, sizeof(o.key));
	return p->line[0] != NULL && p->line[1] != NULL ? 0 : err_nomem();
}

void
proc_end_orphan(const struct proc *p)
{
	pid_t shim;
	int fd;

	if (*p->name != 0 && attach_connect(p->name, &fd, &shim) == 0)
		shim_release(fd);
}

/* Each time anew: another agent may have done so before. */
void
proc_announce_joins(const struct proc *p)
{
	if (p->state == PROC_RUNNING && p->child.role == JOB_SERVER)
		shim_signal(p->pid, SIGURG);
}

void
proc_signal(struct proc *p, int signo)
{
	if (p->state == PROC_RUNNING && (p->passed & 1ull << signo) == 0)
		shim_signal(p->pid, signo);
}

bool
proc_has_successor(const struct proc *p, const struct job *j)
{
	if (p->child.role == JOB_SERVER)
		return p->listen_fd >= 0 && !memory_declined(p->memory_fd);
	if (memory_declined(p->shard_fd))
		return false;
	return memory_used(p->memory_fd) ||
	    (strcmp(io_base_name(j->argv[0]), "pworker") == 0 && memory_untouched(p->memory_fd));
}

int
proc_start_again(struct proc *p, const struct job *j, const struct role_place *at)
{
	double now = clk_s();

	if (p->again == 0 || now - p->hour_at > HOUR_S) {
		p->hour_at = now;
		p->again = 0;
	}
	if (p->again >= j->respawn)
		return err_fail(ERR_LIMIT, "--respawn allows %u in an hour", j->respawn);
	p->again++;
	proc_close_pipes(p);
	p->addr_len = 0;
	return proc_start(p, j, at);
}

void
proc_poll(const struct proc *p, int with_lines, struct pollfd fd[PROC_FDS])
{
	for (int i = 0; i < 2; i++)
		fd[i] = (struct pollfd){ .fd = p->line[i] != NULL && with_lines ? lines_fd(p->line[i]) : -1,
		    .events = POLLIN };
	fd[2] = (struct pollfd){ .fd = p->ready, .events = POLLIN };
	fd[3] = outq_poll(&p->in);
	fd[4] = (struct pollfd){ .fd = p->state == PROC_RUNNING ? p->shim : -1, .events = POLLIN };
}

int
proc_ready(struct proc *p)
{
	ssize_t r;
	char *end;

	if (p->ready < 0)
		return 0;
	r = read(p->ready, p->addr + p->addr_len, sizeof(p->addr) - 1 - p->addr_len);
	if (r < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	p->addr_len += r > 0 ? (size_t)r : 0;
	p->addr[p->addr_len] = 0;
	end = strchr(p->addr, '\n');
	if (end == NULL && r > 0 && p->addr_len < sizeof(p->addr) - 1)
		return 0;
	close(p->ready);
	p->ready = -1;
	/* An earlier agent may have read it. */
	if (end == NULL && p->adopted && p->listen_fd >= 0) {
		snprintf(p->addr, sizeof(p->addr), "%s", p->listen);
		return 1;
	}
	if (end == NULL)
		end = p->addr;
	*end = 0;
	return end != p->addr;
}

int
proc_next_lines(struct proc *p, int which, const char **text, size_t *n)
{
	int e = p->line[which] != NULL ? lines_next(p->line[which], text, n) : 0;

	if (e == 0) {
		lines_close(p->line[which]);
		p->line[which] = NULL;
	}
	return e;
}

int
proc_input(struct proc *p, const void *text, size_t n)
{
	if (p->in_end || p->in_unreported + n > CTL_INPUT_MOST)
		return err_fail(ERR_FORMAT, "more input than allowed, or input after its end");
	p->in_end = n == 0;
	p->in_unreported += (uint32_t)n;
	return p->in.fd >= 0 ? outq_put(&p->in, text, n) : 0;
}

uint32_t
proc_feed(struct proc *p, bool ready)
{
	uint32_t gone;

	/* A process may close its input; the rest is dropped. */
	if (p->in.fd >= 0 && ready && outq_run(&p->in) < 0)
		close_input(p);
	gone = p->in_unreported - (uint32_t)outq_size(&p->in);
	if (p->in_end && outq_size(&p->in) == 0)
		close_input(p);
	if (gone < CTL_INPUT_MOST / 8 && outq_size(&p->in) > 0)
		return 0;
	p->in_unreported -= gone;
	return gone;
}

/* Waits until the command, which dies with its shim, has ended.  It is not this process's child. */
static void
wait_for_orphan(pid_t command)
{
	int fd = (int)syscall(SYS_pidfd_open, command, 0);

	if (fd < 0)
		return;
	poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, ORPHAN_MS);
	close(fd);
}

int
proc_ended(struct proc *p, int *status, bool *stray)
{
	struct shim_end end;
	int e = p->state == PROC_RUNNING ? shim_read_end(p->shim, &end) : 0;

	if (e == 0)
		return 0;
	*stray = e < 0;
	if (e < 0) {
		end = (struct shim_end){ .status = SIGKILL };
		p->pid = 0;
		if (p->adopted) {
			wait_for_orphan(p->command);
			session_kill(p->command);	/* what it started, which is none of ours either */
		}
	}
	if (end.peak_kib > p->peak_kib)
		p->peak_kib = end.peak_kib;
	*status = end.status;
	p->state = PROC_ENDED;
	return 1;
}
