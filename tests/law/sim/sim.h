/*
 * sim - processes in simulated time: real code over simulated system calls, in one thread and by one seed.
 *
 * The linker gives the calls of the code under test to sys.c (--wrap, see the Makefile): clocks, sockets, poll,
 * threads, locks and the heap.  So serve_run() and worker.h run as they are, with their event loops, threads, time-outs
 * and connections, and nothing in lib/ knows of it.  A thread of a process is a fiber, with a stack of its own.  It
 * runs until it waits in such a call, or gives up the processor at a lock.  Which fiber runs next is drawn.  If none
 * can run, the time of the next event comes.
 *
 * Read in this order: sim (processes, fibers, time), wire (connections between hosts), local (sockets and memory of
 * one machine), disk (files), net (descriptors), heap (what a process allocates ends with it), stack (of fibers), sys
 * (the calls).
 *
 * A date is any number, another one each time: nothing that a job does may depend on it.
 *
 * One world at a time.  The functions are for the code outside of processes, unless they say otherwise.
 */
#ifndef TESTS_LAW_SIM_H
#define TESTS_LAW_SIM_H

#include "base/rng.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_PROCS	32	/* most processes of a world, those that ended counted if others started before */
#define SIM_WIRES	192	/* and connections */
#define SIM_NAME	32
#define SIM_NEVER	UINT64_MAX
#define SIM_MS		UINT64_C(1000000)	/* nanoseconds */
#define SIM_S		(1000 * SIM_MS)

/* To be called before the first world: makes room for worlds with more than SIM_PROCS and SIM_WIRES. */
void	 sim_reserve(unsigned procs, unsigned wires);
/* Begins a world.  With a trace, what happens in it is printed. */
void	 sim_begin(uint64_t seed, bool trace);
void	 sim_end(void);
uint64_t sim_now(void);			/* nanoseconds; also for processes, with what they have spent */
struct rng *sim_chance(void);
/* Prints a line of the trace, with the time and the process. */
void	 sim_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
bool	 sim_traced(void);

typedef void sim_main_fn(void *arg);
/* Called when a process has ended; killed: not by the return of its main. */
typedef void sim_ended_fn(void *arg, bool killed);

/* Starts a process on a host and returns its number. */
unsigned sim_spawn(const char *name, uint32_t host, sim_main_fn *main, sim_ended_fn *ended, void *arg);
bool	 sim_alive(unsigned proc);
/* The process of the call in progress, or -1; its host. */
int	 sim_proc(void);
uint32_t sim_host(unsigned proc);
/* Ends a process as SIGKILL does: its connections are closed by the system, and its memory is gone. */
void	 sim_kill(unsigned proc);
/* For a process: it ends here in the same way. */
_Noreturn void sim_die(void);
/* Until a time, a process does nothing; its connections take bytes. */
void	 sim_pause(unsigned proc, uint64_t until);
/* For a process: it is busy for a time, which has passed when the call returns. */
void	 sim_spend(uint64_t ns);
/* Processes take no time but what they spend; otherwise each turn takes some microseconds, drawn. */
void	 sim_calm(void);
/* Calls fn(arg) at a time. */
void	 sim_at(uint64_t at, void (*fn)(void *arg), void *arg);
/* One thing happens.  Returns false if nothing is left that could. */
bool	 sim_turn(void);

/* For the calls of sys.c, in processes. */
enum sim_wait { SIM_READY, SIM_POLL, SIM_LOCK, SIM_COND, SIM_JOIN };
/* Whether a process runs now; else the system is called. */
bool	 sim_inside(void);
void	 sim_yield(void);
/* Something has changed for which a process of a host, or of any, may wait in sim_poll(). */
void	 sim_changed(uint32_t host);
void	 sim_changed_anywhere(void);
/* Waits for one of n descriptors or a time.  Returns how many are ready, their revents set. */
int	 sim_poll(struct pollfd *p, unsigned n, uint64_t until);
void	 sim_lock(int *locked);
/* Unlocks, waits for sim_wake(cond) or a time, and locks.  Returns whether it was woken. */
bool	 sim_sleep(const void *cond, int *locked, uint64_t until);
void	 sim_wake(const void *cond);
unsigned sim_thread(void *(*main)(void *), void *arg);
void	 sim_join(unsigned thread);

#endif
