/*
 * heap - the heap of each simulated process, which ends with it: serves sim.
 *
 * Each block has a header with its process, so that all blocks of one that is killed can be freed.
 */
#ifndef TESTS_LAW_SIM_HEAP_H
#define TESTS_LAW_SIM_HEAP_H

#include <stddef.h>

/* For sim_reserve(). */
void	 heap_reserve(unsigned procs);
/* Frees all that a process has allocated. */
void	 heap_free_all(unsigned proc);
/* Blocks that a process has. */
size_t	 heap_blocks(unsigned proc);
/* The most bytes that a process has had. */
size_t	 heap_peak(unsigned proc);

/* As those of the system, for the process that runs, or outside of any. */
void	*heap_malloc(size_t n);
void	*heap_calloc(size_t n, size_t size);
void	*heap_realloc(void *p, size_t n);
void	 heap_free(void *p);

#endif
