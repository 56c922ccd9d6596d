/*
 * seeds - which seeds a test of tests/law runs: its own number of them, --seeds FROM-TO, or with a trace --seed N.
 */
#ifndef TESTS_LAW_SEEDS_H
#define TESTS_LAW_SEEDS_H

#include <stdbool.h>
#include <stdint.h>

struct seeds {
	uint64_t from, to;	/* 0: the test's own */
	bool	 trace;
};

/* Returns false if the arguments are others. */
bool	 seeds_parse(int argc, char **argv, struct seeds *s);
/* Seeds 1 to `usual`, fewer with a sanitizer, unless others were asked for. */
struct seeds seeds_or(const struct seeds *s, unsigned usual);
/* How many there are. */
uint64_t seeds_count(const struct seeds *s);

#endif
