/*
 * load - processor load of this process and of its host.
 *
 * getrusage(2) counts the process with all its threads.  The first line of /proc/stat counts the host, where a
 * processor that waits for a disk is idle.  Source: proc(5).
 * Threads: no state.
 */
#ifndef WATCH_LOAD_H
#define WATCH_LOAD_H

#include <stdint.h>

struct load {
	double	 at, cpu_s;
	uint64_t busy, all;	/* ticks of the host's processors; all is 0 if unknown */
};

/* Reads the counters. */
struct load load_now(void);
/* The processors that this process kept busy between a and b: CPU seconds per second.  0 if no time has passed. */
double	 load_process(const struct load *a, const struct load *b);
/* The share of the host's processors that was busy, 0..1, or -1 if unknown. */
double	 load_host(const struct load *a, const struct load *b);

#endif
