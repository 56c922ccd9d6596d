/* agent_handle - how an agent handles its launcher's messages. */
#include "run/agent/agent_job.h"

#include "base/err.h"
#include "base/threads.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct role_place
agent_place(const struct agent *a)
{
	return (struct role_place){ .addr = a->addr, .bin = a->opt->bin, .go = a->go != NULL ? a->go : "",
	    .processors = threads_processors() };
}

static void
start_child(struct agent *a, uint32_t i)
{
	struct proc *p = &a->proc[i];
	const struct role_place at = agent_place(a);
	char text[1100];

	if (proc_start(p, &a->job, &at) == 0) {
		agent_send_start(a, i);
		if (p->child.role == JOB_SCHEDULER)
			agent_send(a, CTL_READY, &i, 1, p->addr);
		return;
	}
	/* As a shell does: an error line, and status 127 for a missing command, else 126. */
	p->status = errno == ENOENT ? 127 << 8 : 126 << 8;
	p->state = job_unjoined(a->job.elastic, &p->child, p->status) ? PROC_LEFT : PROC_ENDED;
	agent_send_lines(a, i, 1, text, (size_t)snprintf(text, sizeof(text), "%s\n", err_line()));
	agent_end_process(a, i, CTL_EXITED);
}

/*
 * Takes over the processes of an agent that has ended, or ends those of an earlier attempt.  A process that was started
 * and is gone has died with its shim and its memory.
 */
static int
adopt_children(struct agent *a)
{
	uint32_t found = 0, gone = 0;
	const struct proc *first = NULL;
	int e;

	for (uint32_t i = 0; i < a->job.nchildren; i++) {
		struct proc *p = &a->proc[i];

		if (!a->opt->adopts || p->child.stage == JOB_ENDED) {
			proc_end_orphan(p);
			p->state = p->child.stage == JOB_ENDED ? PROC_ENDED : PROC_WAITING;
			continue;
		}
		/* The launcher may have another key than the job that it takes over. */
		if ((e = proc_adopt(p, a->job.own_key)) == 0)
			found++;
		else if (e != ERR_PEER)
			return e;
		else if (p->child.stage == JOB_STARTED && gone++ == 0)
			first = p;
		p->leaving = a->job.elastic > 0 && (p->passed & 1ull << SIGUSR1) != 0;
	}
	if (gone > 0 && found == 0)
		return err_fail(ERR_PEER, "its agent and processes have ended");
	return gone == 0 ? 0 : err_fail(ERR_PEER, "%s %u has ended with its agent", job_role(first->child.role),
	    first->child.rank);
}

/* Opens the sockets of the workers' shards and reports their addresses.  An adopted worker has reported its own. */
static int
listen_for_shards(struct agent *a)
{
	for (uint32_t i = 0; i < a->job.nchildren; i++) {
		struct proc *p = &a->proc[i];

		if (p->state != PROC_WAITING)
			continue;
		ERR_TRY(proc_listen(p, a->addr));
		agent_send(a, CTL_READY, &i, 1, p->addr);
	}
	return 0;
}

bool
agent_reserve(const struct agent *a, uint32_t i)
{
	const struct job_child *c = &a->job.child[i];

	return a->job.elastic > 0 && c->role == JOB_WORKER && c->rank >= a->workers;
}

static int
handle_job(struct agent *a, const struct frame *f)
{
	int e;

	if (a->proc != NULL)
		return err_fail(ERR_FORMAT, "a second JOB message");
	e = job_get(f->p, f->len, &a->job);
	explicit_bzero((void *)(uintptr_t)f->p, f->len);	/* the key: shims inherit this memory */
	if (e < 0)
		return e;
	a->workers = a->job.elastic;
	a->proc = calloc((size_t)a->job.nchildren + 1, sizeof(*a->proc));
	free(a->fd);
	a->fd = calloc(AGENT_FDS + PROC_FDS * (size_t)a->job.nchildren, sizeof(*a->fd));
	if (a->proc == NULL || a->fd == NULL)
		return err_nomem();
	chan_log_limit(a->chan, (uint64_t)a->job.spool_kib << 10);
	for (uint32_t i = 0; i < a->job.nchildren; i++)
		proc_init(&a->proc[i], &a->job, i, a->opt->name,
		    a->opt->attach_fd >= 0 ? a->job.silence_ms * 1e-3 : PROC_HOLD_S);
	e = adopt_children(a);
	if (e == 0 && chdir(a->job.dir) < 0)
		e = err_sys("%s", a->job.dir);
	if (e == 0)
		e = here_addr(a->job.addr, a->job.iface, a->job.host, a->addr);
	if (e == 0 && job_has_shards(a->job.dmlc, a->job.servers, a->job.workers))
		e = listen_for_shards(a);
	for (uint32_t i = 0; i < a->job.nchildren && e == 0; i++) {
		if (a->proc[i].state == PROC_RUNNING)
			agent_send_start(a, i);
		if (a->proc[i].state == PROC_WAITING && proc_starts_first(&a->job, &a->proc[i]))
			start_child(a, i);
	}
	return e;
}

static int
handle_go(struct agent *a, const struct frame *f)
{
	struct ctl_in in = { .p = f->p, .n = f->len };
	const char *go = ctl_get_text(&in);

	if (a->proc == NULL || a->go != NULL || in.bad)
		return err_fail(ERR_FORMAT, "an unexpected or malformed GO message");
	if ((a->go = strdup(go)) == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < a->job.nchildren; i++)
		if (a->proc[i].state == PROC_WAITING && !agent_reserve(a, i))
			start_child(a, i);
	return 0;
}

static void
scale_child(struct agent *a, uint32_t i)
{
	struct proc *p = &a->proc[i];

	if (agent_reserve(a, i) && p->state == PROC_RUNNING && !p->leaving) {
		p->leaving = true;
		proc_signal(p, SIGUSR1);
	}
	if (agent_reserve(a, i))
		return;
	if (p->state == PROC_LEFT)
		proc_renew(p);
	if (p->state == PROC_WAITING && p->child.role == JOB_WORKER && a->go != NULL)
		start_child(a, i);
}

static int
handle_scale(struct agent *a, const struct frame *f)
{
	struct ctl_in in = { .p = f->p, .n = f->len };
	uint32_t n = ctl_get_u32(&in);
	bool joins;

	if (a->proc == NULL || a->job.elastic == 0 || in.bad || n > a->job.workers)
		return err_fail(ERR_FORMAT, "an unexpected or malformed SCALE message");
	/* At the start the servers expect all of them. */
	joins = n > a->workers || (n == a->workers && n > a->job.elastic);
	a->workers = n > 0 ? n : a->workers;
	a->closed |= n == 0;
	for (uint32_t i = 0; i < a->job.nchildren && joins; i++)
		proc_announce_joins(&a->proc[i]);
	for (uint32_t i = 0; i < a->job.nchildren; i++)
		if (n > 0)
			scale_child(a, i);
		else if (a->proc[i].state == PROC_WAITING || a->proc[i].state == PROC_LEFT)
			a->proc[i].state = PROC_ENDED;
	return 0;
}

void
agent_rejoin(struct agent *a, uint32_t i)
{
	if (a->closed)
		return;
	a->proc[i].state = PROC_LEFT;
	scale_child(a, i);
}

static int
handle_signal(struct agent *a, const struct frame *f)
{
	struct ctl_in in = { .p = f->p, .n = f->len };
	uint32_t whom = ctl_get_u32(&in), signo = ctl_get_u32(&in);

	if (a->proc == NULL || in.bad || signo == 0 || signo >= NSIG)
		return err_fail(ERR_FORMAT, "an unexpected or malformed SIGNAL message");
	a->signals++;
	for (uint32_t i = 0; i < a->job.nchildren; i++) {
		struct proc *p = &a->proc[i];

		if (whom == CTL_WORKERS && p->child.role != JOB_WORKER)
			continue;
		if (p->state == PROC_WAITING || p->state == PROC_LEFT)
			p->state = PROC_ENDED;	/* it never starts */
		proc_signal(p, (int)signo);
	}
	return 0;
}

static int
handle_input(struct agent *a, const struct frame *f)
{
	struct ctl_in in = { .p = f->p, .n = f->len };
	uint32_t i = ctl_get_u32(&in);

	if (in.bad || a->proc == NULL || i >= a->job.nchildren)
		return err_fail(ERR_FORMAT, "input for an unknown process");
	return proc_input(&a->proc[i], in.p, in.n);
}

int
agent_handle(struct agent *a, const struct frame *f)
{
	switch (f->type) {
	case CTL_JOB:
		return handle_job(a, f);
	case CTL_GO:
		return handle_go(a, f);
	case CTL_SIGNAL:
		return handle_signal(a, f);
	case CTL_SCALE:
		return handle_scale(a, f);
	case CTL_SET:
		return agent_handle_set(a, f);
	case CTL_INPUT:
		return handle_input(a, f);
	case CTL_CREDIT:
		if (f->len != 4)
			break;
		chan_credit(a->chan, le_get32(f->p));
		return 0;
	case CTL_ABANDON:
		return err_fail(ERR_STOP, "the launcher has given this host up");
	}
	return err_fail(ERR_FORMAT, "message %u of %u bytes is not a launcher's", f->type, f->len);
}

