/* sim - processes in simulated time: their fibers, and which one runs next. */
#include "law/sim/sim.h"
#include "law/sim/disk.h"
#include "law/sim/heap.h"
#include "law/sim/local.h"
#include "law/sim/net.h"
#include "law/sim/stack.h"
#include "law/sim/sys.h"

#include "base/err.h"

#include <assert.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS	2u	/* of a process, and timers for each */
#define TICK_NS	4000u	/* most time that a fiber takes before it waits again */
#define YIELDS	6u	/* of so many locks, one gives up the processor */

struct proc {
	char		 name[SIM_NAME];
	uint32_t	 host;
	bool		 alive;
	uint64_t	 paused_until;
	sim_main_fn	*main;
	sim_ended_fn	*ended;
	void		*arg;
};

struct fiber {
	bool		 used, over;
	enum sim_wait	 wait;
	uint64_t	 until;		/* of SIM_POLL, SIM_COND */
	struct pollfd	*poll;
	unsigned	 npoll;
	uint64_t	 checked;	/* changes of its host when no descriptor was ready */
	const void	*on;		/* a lock, a condition */
	unsigned	 joins;
	bool		 woken;
	struct stack	 stack;		/* its memory is kept for the next one */
	unsigned	 proc;
	void		*(*main)(void *);	/* of a thread; NULL: the process's */
	void		*arg;
	char		 line[ERR_LINE];	/* its thread's err_line() */
};

struct timer {
	uint64_t	 at;
	void		(*fn)(void *arg);
	void		*arg;
};

static struct {
	struct rng	 chance;
	uint64_t	 now;
	bool		 trace, calm;
	unsigned	 room;		/* most processes */
	struct proc	*proc;		/* [room] */
	unsigned	 nproc;
	struct fiber	*fiber, **ready;	/* [THREADS * room] */
	unsigned	 nfiber;	/* the others were never used in this world */
	struct fiber	*running;
	uint64_t	 spent;		/* by the process of the fiber that runs, since it got its turn */
	bool		 dies;		/* the process of the fiber that ran */
	uint64_t	*changes;	/* [room] of a host, see sim_changed() */
	struct timer	*timer;		/* [THREADS * room] */
	unsigned	 ntimer;
} sim;

void
sim_reserve(unsigned procs, unsigned wires)
{
	sim.room = procs;
	sim.proc = __real_calloc(procs, sizeof(*sim.proc));
	sim.fiber = __real_calloc(THREADS * procs, sizeof(*sim.fiber));
	sim.ready = __real_calloc(THREADS * procs, sizeof(struct fiber *));
	sim.changes = __real_calloc(procs, sizeof(*sim.changes));
	sim.timer = __real_calloc(THREADS * procs, sizeof(*sim.timer));
	if (sim.proc == NULL || sim.fiber == NULL || sim.ready == NULL || sim.changes == NULL || sim.timer == NULL)
		abort();
	heap_reserve(procs);
	wire_reserve(procs, wires);
	net_reserve(procs, wires);
}

void
sim_begin(uint64_t seed, bool trace)
{
	if (sim.room == 0)
		sim_reserve(SIM_PROCS, SIM_WIRES);
	sim.chance = rng_start(seed, 11, 0);
	sim.now = SIM_S;
	sim.trace = trace;
	sim.calm = false;
	sim.nproc = sim.ntimer = sim.nfiber = 0;
	json_set_alloc_funcs(heap_malloc, heap_free);	/* the code under test frees what it gives */
	net_begin();
	wire_begin();
	disk_begin();
}

void
sim_end(void)
{
	for (unsigned p = 0; p < sim.nproc; p++)
		if (sim.proc[p].alive) {
			sim.proc[p].ended = NULL;
			sim_kill(p);
		}
	wire_end();
	disk_end();
}

uint64_t
sim_now(void)
{
	return sim.now + sim.spent;
}

void
sim_spend(uint64_t ns)
{
	sim.spent += ns;
}

void
sim_calm(void)
{
	sim.calm = true;
}

void
sim_changed(uint32_t host)
{
	sim.changes[host]++;
}

void
sim_changed_anywhere(void)
{
	for (unsigned i = 0; i < sim.room; i++)
		sim.changes[i]++;
}

struct rng *
sim_chance(void)
{
	return &sim.chance;
}

bool
sim_traced(void)
{
	return sim.trace;
}

void
sim_log(const char *fmt, ...)
{
	va_list ap;

	if (!sim.trace)
		return;
	printf("# %.6f %-9s ", (double)sim_now() * 1e-9, sim.running != NULL ? sim.proc[sim.running->proc].name : "-");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

bool
sim_inside(void)
{
	return sim.running != NULL;
}

int
sim_proc(void)
{
	return sim.running != NULL ? (int)sim.running->proc : -1;
}

uint32_t
sim_host(unsigned proc)
{
	return sim.proc[proc].host;
}

bool
sim_alive(unsigned proc)
{
	return sim.proc[proc].alive;
}

/* Leaves the fiber until the next turn that it gets. */
static void
leave_fiber(void)
{
	stack_leave(&sim.running->stack);
}

static void
run_fiber(void)
{
	struct fiber *f = sim.running;

	stack_arrive();
	if (f->main != NULL)
		f->main(f->arg);
	else
		sim.proc[f->proc].main(sim.proc[f->proc].arg);
	f->over = true;
	leave_fiber();
	abort();
}

static unsigned
start_fiber(unsigned proc, void *(*main)(void *), void *arg)
{
	unsigned i = 0;
	struct fiber *f;

	while (i < THREADS * sim.room && sim.fiber[i].used)
		i++;
	assert(i < THREADS * sim.room);
	f = &sim.fiber[i];
	sim.nfiber = i < sim.nfiber ? sim.nfiber : i + 1;
	f->used = true;
	f->over = f->woken = false;
	f->proc = proc;
	f->main = main;
	f->arg = arg;
	f->wait = SIM_READY;
	f->line[0] = 0;
	stack_make(&f->stack, run_fiber);
	return i;
}

unsigned
sim_spawn(const char *name, uint32_t host, sim_main_fn *main, sim_ended_fn *ended, void *arg)
{
	unsigned p = 0;

	while (p < sim.nproc && sim.proc[p].alive)
		p++;
	assert(p < sim.room);
	sim.nproc = p < sim.nproc ? sim.nproc : p + 1;
	sim.proc[p] = (struct proc){ .host = host, .alive = true, .main = main, .ended = ended, .arg = arg };
	snprintf(sim.proc[p].name, SIM_NAME, "%s", name);
	start_fiber(p, NULL, NULL);
	return p;
}

static void
end_process(unsigned p, bool killed)
{
	struct proc *proc = &sim.proc[p];

	for (unsigned i = 0; i < sim.nfiber; i++)
		if (sim.fiber[i].used && sim.fiber[i].proc == p)
			sim.fiber[i].used = false;
	proc->alive = false;
	net_close_all(p);
	local_free_all(p);
	sim_changed_anywhere();
	disk_close_all(p);
	if (proc->ended != NULL)
		proc->ended(proc->arg, killed);
	heap_free_all(p);
}

void
sim_kill(unsigned p)
{
	if (sim.proc[p].alive)
		end_process(p, true);
}

_Noreturn void
sim_die(void)
{
	sim.dies = true;
	leave_fiber();
	abort();
}

void
sim_pause(unsigned p, uint64_t until)
{
	sim.proc[p].paused_until = until;
}

void
sim_at(uint64_t at, void (*fn)(void *arg), void *arg)
{
	assert(sim.ntimer < THREADS * sim.room);
	sim.timer[sim.ntimer++] = (struct timer){ at, fn, arg };
}

static void
fire_timers(void)
{
	for (unsigned i = 0; i < sim.ntimer;) {
		struct timer t = sim.timer[i];

		if (t.at > sim.now) {
			i++;
			continue;
		}
		sim.timer[i] = sim.timer[--sim.ntimer];
		t.fn(t.arg);
	}
}

/* A fiber without an event looks again only when something has changed: its descriptors may be a thousand. */
static bool
has_event(struct fiber *f)
{
	const uint64_t changes = sim.changes[sim.proc[f->proc].host];

	if (f->checked == changes)
		return false;
	for (unsigned i = 0; i < f->npoll; i++)
		if (net_ready(f->poll[i].fd, f->poll[i].events) != 0)
			return true;
	f->checked = changes;
	return false;
}

static bool
can_run(struct fiber *f)
{
	if (!f->used || f->over || sim.proc[f->proc].paused_until > sim.now)
		return false;
	switch (f->wait) {
	case SIM_READY:	return true;
	case SIM_POLL:	return f->until <= sim.now || has_event(f);
	case SIM_LOCK:	return *(const int *)f->on == 0;
	case SIM_COND:	return f->woken || f->until <= sim.now;
	case SIM_JOIN:	return sim.fiber[f->joins].over;
	}
	return false;
}

/* The time of the next event. */
static uint64_t
find_next_time(void)
{
	uint64_t next = wire_next();

	for (unsigned i = 0; i < sim.ntimer; i++)
		next = sim.timer[i].at < next ? sim.timer[i].at : next;
	for (unsigned i = 0; i < sim.nfiber; i++) {
		const struct fiber *f = &sim.fiber[i];
		uint64_t paused, at;

		if (!f->used || f->over)
			continue;
		paused = sim.proc[f->proc].paused_until;
		at = f->wait == SIM_POLL || f->wait == SIM_COND ? f->until : SIM_NEVER;
		if (paused > sim.now)
			at = paused;
		next = at < next ? at : next;
	}
	return next;
}

static void
resume_fiber(struct fiber *f)
{
	const unsigned p = f->proc;

	sim.running = f;
	sim.spent = 0;
	if (strcmp(err_line(), f->line) != 0)
		err_note(0, "%s", f->line);
	stack_enter(&f->stack);
	strcpy(f->line, err_line());
	sim.running = NULL;
	if (sim.spent > 0)
		sim_pause(p, sim_now());
	sim.spent = 0;
	if (sim.dies) {
		sim.dies = false;
		end_process(p, true);
	} else if (f->over && f->main == NULL) {
		end_process(p, false);
	}
}

bool
sim_turn(void)
{
	unsigned n = 0;

	wire_deliver();
	fire_timers();
	for (unsigned i = 0; i < sim.nfiber; i++)
		if (can_run(&sim.fiber[i]))
			sim.ready[n++] = &sim.fiber[i];
	if (n == 0) {
		uint64_t next = find_next_time();

		if (next == SIM_NEVER)
			return false;
		sim.now = next > sim.now ? next : sim.now + 1;
		return true;
	}
	sim.now += sim.calm ? 0 : rng_below(&sim.chance, TICK_NS);
	resume_fiber(sim.ready[rng_below(&sim.chance, n)]);
	return true;
}

static void
wait_for(enum sim_wait what)
{
	sim.running->wait = what;
	leave_fiber();
	sim.running->wait = SIM_READY;
}

void
sim_yield(void)
{
	wait_for(SIM_READY);
}

int
sim_poll(struct pollfd *p, unsigned n, uint64_t until)
{
	struct fiber *f = sim.running;
	int ready = 0;

	f->poll = p;
	f->npoll = n;
	f->checked = UINT64_MAX;
	f->until = until;
	wait_for(SIM_POLL);
	for (unsigned i = 0; i < n; i++) {
		p[i].revents = net_ready(p[i].fd, p[i].events);
		ready += p[i].revents != 0;
	}
	return ready;
}

void
sim_lock(int *locked)
{
	if (rng_below(&sim.chance, YIELDS) == 0)
		sim_yield();
	while (*locked != 0) {
		sim.running->on = locked;
		wait_for(SIM_LOCK);
	}
	*locked = 1;
}

bool
sim_sleep(const void *cond, int *locked, uint64_t until)
{
	struct fiber *f = sim.running;

	*locked = 0;
	f->on = cond;
	f->until = until;
	f->woken = false;
	wait_for(SIM_COND);
	while (*locked != 0) {
		f->on = locked;
		wait_for(SIM_LOCK);
	}
	*locked = 1;
	return f->woken;
}

void
sim_wake(const void *cond)
{
	for (unsigned i = 0; i < sim.nfiber; i++)
		if (sim.fiber[i].used && sim.fiber[i].wait == SIM_COND && sim.fiber[i].on == cond)
			sim.fiber[i].woken = true;
}

unsigned
sim_thread(void *(*main)(void *), void *arg)
{
	return start_fiber(sim.running->proc, main, arg);
}

void
sim_join(unsigned thread)
{
	sim.running->joins = thread;
	wait_for(SIM_JOIN);
	sim.fiber[thread].used = false;
}
