/*
 * load - how busy this process and its host are.
 *
 * The process's share is what getrusage(2) counts, all its threads; the host's is the first line of /proc/stat, where a
 * processor that waits for a disk is not busy.  Source: proc(5).
 * Threads: for one thread at a time.
 */
#ifndef WATCH_LOAD_H
#define WATCH_LOAD_H

#include <stdint.h>

struct load {
	double	 at, cpu_s;
	uint64_t busy, all;	/* of the host's processors; all 0: not known */
};

/* What has been counted so far. */
struct load load_now(void);
/* Processors that the process kept busy from a to b: processor seconds a second; 0 for no time at all. */
double	 load_process(const struct load *a, const struct load *b);
/* The share of the host's that was busy, 0..1; less than 0 when it is not known. */
double	 load_host(const struct load *a, const struct load *b);

#endif
