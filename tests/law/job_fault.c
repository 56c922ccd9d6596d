/* job_fault - what fails in a job of whole processes: serves job. */
#include "law/job_in.h"
#include "law/sim/wire.h"

#include <stdio.h>

#define FAULTS		8u	/* most of a job, besides deaths at stores that were not reached */
#define EVERY		150u	/* turns between two, on average */
#define LOSSES		3u	/* most of all processes at cuts, besides these */
#define DEATHS		2u	/* most deaths of workers that lend what they pushed or have new shares, besides these */
#define MOMENTS		2u	/* most that begin at a moment of interest */
#define OUTAGE_NS	(12 * SIM_S)	/* all outages of a job together; workers try to connect for 30 s */
#define PARTING_NS	(5 * SIM_S)	/* least outage at a goodbye: the connection ends, and attempts fail for seconds */
#define STORES		60u

const char *const job_fault_names[JOB_FAULTS] = {
	[JOB_SERVER_STORE] = "deaths of servers at a store", [JOB_WORKER_STORE] = "deaths of workers at a store",
	[JOB_SERVER_KILL] = "deaths of servers elsewhere", [JOB_WORKER_KILL] = "deaths of workers elsewhere",
	[JOB_BREAK] = "broken connections", [JOB_PARTITION] = "partitions", [JOB_ONE_WAY] = "partitions one way",
	[JOB_UNREACHABLE] = "partitions that refuse", [JOB_PAUSE] = "pauses",
	[JOB_PROCESSES_LOST] = "losses of all processes", [JOB_HOST_LOST] = "losses of a host and all processes",
	[JOB_POWER] = "failures of the power", [JOB_DISK_FULL] = "full disks", [JOB_DISK_FLUSH] = "disks that do not flush",
	[JOB_DISK_SHORT] = "disks that write a part", [JOB_DISK_SLOW] = "slow disks",
};

bool
job_fault_needs_cuts(enum job_fault f)
{
	return f >= JOB_PROCESSES_LOST && f < JOB_FAULTS;
}

/* In other jobs a worker whose connection ends is lost, and if it returns, it goes on where the others are. */
bool
job_fault_needs_sync(enum job_fault f)
{
	return job_fault_needs_cuts(f) || f == JOB_WORKER_STORE || f == JOB_WORKER_KILL || f == JOB_BREAK;
}

void
job_fault_draw(struct job *j)
{
	struct rng *c = sim_chance();

	if (j->one == JOB_FAULTS && rng_below(c, 8) == 0)
		return;		/* nothing fails */
	j->kinds = j->one < JOB_FAULTS ? 1u << j->one : (unsigned)rng_below(c, 1u << JOB_FAULTS);
	for (enum job_fault f = 0; f < JOB_FAULTS; f++)
		if ((job_fault_needs_cuts(f) && j->cut == 0) || (job_fault_needs_sync(f) && j->x.slack != STALE_SYNC))
			j->kinds &= ~(1u << f);
	j->left = 1 + (unsigned)rng_below(c, FAULTS);
	j->deaths = (unsigned)rng_below(c, DEATHS + 1);
	j->losses = (unsigned)rng_below(c, LOSSES + 1);
	j->outage = OUTAGE_NS;
}

static uint64_t
take_outage(struct job *j, uint64_t ns)
{
	ns = ns < j->outage ? ns : j->outage;
	j->outage -= ns;
	return ns;
}

static uint64_t
draw_outage(void)
{
	return SIM_MS + rng_below(sim_chance(), SIM_MS << rng_below(sim_chance(), 14));
}

uint64_t
job_fault_outage(struct job *j)
{
	return take_outage(j, draw_outage());
}

/* A server or worker that has not ended. */
static struct job_process *
draw_process(struct job *j, bool server)
{
	const uint32_t n = server ? j->x.S : j->x.W, i = (uint32_t)rng_below(sim_chance(), n);
	struct job_process *p = &j->process[server ? i : j->x.S + i];

	return p->proc >= 0 ? p : NULL;
}

/* Nothing passes between the host of a worker and a server's for some nanoseconds, or only one way. */
static bool
cut_hosts(struct job *j, enum job_fault kind, uint32_t w, uint64_t ns)
{
	const uint32_t s = (uint32_t)rng_below(sim_chance(), j->x.S);
	const bool to_worker = kind != JOB_ONE_WAY || rng_below(sim_chance(), 2);
	uint64_t until;

	if (wire_together(s, w))
		return false;
	until = sim_now() + take_outage(j, ns);
	sim_log("%s of hosts %u and %u until %.6f", job_fault_names[kind], s, w, (double)until * 1e-9);
	if (to_worker)
		wire_cut(s, w, until, kind == JOB_UNREACHABLE);
	if (kind != JOB_ONE_WAY || !to_worker)
		wire_cut(w, s, until, kind == JOB_UNREACHABLE);
	return true;
}

static bool
cut_any(struct job *j, enum job_fault kind)
{
	const uint32_t w = j->x.S + (uint32_t)rng_below(sim_chance(), j->x.W);

	/* Where attempts fail at once, seconds decide. */
	return cut_hosts(j, kind, w, kind == JOB_UNREACHABLE && rng_below(sim_chance(), 2) ?
	    rng_below(sim_chance(), 6 * SIM_S) : draw_outage());
}

/* Whether some steps were pushed since all processes were lost last: else the job would be lost again at its start. */
static bool
has_progress(const struct job *j)
{
	const uint64_t least = j->newest + rng_below(sim_chance(), 2 * j->cut + 2);
	bool any = false;

	for (uint32_t i = j->x.S; i < j->n; i++)
		any |= j->process[i].pushed > least;
	return any;
}

static void
lose_job(struct job *j, enum job_fault kind)
{
	if (kind == JOB_POWER)
		disk_power_fail();
	if (kind == JOB_HOST_LOST)
		disk_lose(j->x.S + (uint32_t)rng_below(sim_chance(), j->x.W));
	job_lose(j);
}

/* Returns false if it cannot happen now. */
static bool
let_fail(struct job *j, enum job_fault kind)
{
	const bool server = kind == JOB_SERVER_STORE || kind == JOB_SERVER_KILL ||
	    (kind == JOB_PAUSE && rng_below(sim_chance(), 2));
	struct job_process *p = draw_process(j, server);

	switch (kind) {
	case JOB_SERVER_STORE:
	case JOB_WORKER_STORE:
		if (p != NULL && p->dies_at == 0) {
			p->dies_at = p->stores + 1 + rng_below(sim_chance(), STORES);
			j->left--;
		}
		return false;	/* counted when it happens */
	case JOB_SERVER_KILL:
	case JOB_WORKER_KILL:
		if (p != NULL)
			sim_kill((unsigned)p->proc);
		return p != NULL;
	case JOB_PAUSE:
		if (p != NULL) {
			sim_log("%s %u pauses", server ? "server" : "worker", p->index);
			sim_pause((unsigned)p->proc, sim_now() + job_fault_outage(j));
		}
		return p != NULL;
	case JOB_BREAK:
		return wire_break();
	case JOB_PROCESSES_LOST:
	case JOB_HOST_LOST:
	case JOB_POWER:
		if (has_progress(j)) {
			lose_job(j, kind);
			return true;
		}
		return false;
	case JOB_DISK_FULL:
	case JOB_DISK_FLUSH:
	case JOB_DISK_SHORT:
	case JOB_DISK_SLOW:
		disk_fail(j->x.S + (uint32_t)rng_below(sim_chance(), 1 + j->copies),
		    (enum disk_fault)((unsigned)kind - JOB_DISK_FULL), sim_now() + job_fault_outage(j));
		return true;
	default:
		return cut_any(j, kind);
	}
}

/* One of the kinds that may happen in this job; JOB_FAULTS: there is none. */
static enum job_fault
draw_kind(const struct job *j)
{
	unsigned n = j->kinds != 0 ? (unsigned)rng_below(sim_chance(), (unsigned)__builtin_popcount(j->kinds)) : 0;

	for (unsigned kind = 0; kind < JOB_FAULTS; kind++)
		if ((j->kinds & 1u << kind) != 0 && n-- == 0)
			return (enum job_fault)kind;
	return JOB_FAULTS;
}

static void
draw_fault(void *arg)
{
	struct job *j = arg;
	const enum job_fault kind = draw_kind(j);

	if (j->left == 0 || kind == JOB_FAULTS || !let_fail(j, kind))
		return;
	j->left--;
	j->figures->fault[kind]++;
}

static void
kill_worker(void *arg)
{
	struct job_process *p = arg;

	if (p->proc < 0 || p->job->deaths == 0)
		return;
	p->job->deaths--;
	p->job->figures->fault[JOB_WORKER_KILL]++;
	sim_kill((unsigned)p->proc);
}

void
job_fault_worker(struct job_process *p, uint64_t ns)
{
	if ((p->job->kinds & 1u << JOB_WORKER_KILL) != 0 && p->job->deaths > 0 && rng_below(sim_chance(), 2))
		sim_at(sim_now() + rng_below(sim_chance(), ns >> rng_below(sim_chance(), 8)), kill_worker, p);
}

void
job_fault_parting(struct job_process *p)
{
	struct job *j = p->job;

	if ((j->kinds & 1u << JOB_UNREACHABLE) != 0 && rng_below(sim_chance(), 4) == 0 &&
	    cut_hosts(j, JOB_UNREACHABLE, p->host, PARTING_NS + rng_below(sim_chance(), PARTING_NS)))
		j->figures->fault[JOB_UNREACHABLE]++;
}

static void
lose_saver(void *arg)
{
	struct job *j = arg;
	const enum job_fault kind = JOB_PROCESSES_LOST + (enum job_fault)rng_below(sim_chance(), 3);

	if ((j->kinds & 1u << kind) == 0 || j->losses == 0)
		return;
	j->losses--;
	j->figures->fault[kind]++;
	lose_job(j, kind);
}

/* Between a cut and its manifest, or soon after it. */
void
job_fault_saver(void *arg)
{
	if (rng_below(sim_chance(), 4) == 0)
		sim_at(sim_now() + rng_below(sim_chance(), 8 * SIM_MS >> rng_below(sim_chance(), 6)), lose_saver, arg);
}

void
job_fault_turn(struct job *j)
{
	if (j->left > 0 && rng_below(sim_chance(), EVERY) == 0)
		draw_fault(j);
}

void
job_fault_soon(struct job *j)
{
	for (unsigned i = 0; i < MOMENTS; i++)
		if (rng_below(sim_chance(), 2))
			sim_at(sim_now() + rng_below(sim_chance(), UINT64_C(1000) << rng_below(sim_chance(), 20)), draw_fault, j);
}
