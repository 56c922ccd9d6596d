/* peers - what the programs that stand beside others' share. */
#ifndef TESTS_PEERS_PEERS_H
#define TESTS_PEERS_PEERS_H

#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>

#define PEERS_N		4	/* pictures that random writes, as onnx.py and names.py */
#define PEERS_OPTS	8	/* most options of a net */

/* What fails is said by the program's name and ends it. */
static void
peers_must(const char *program, int e)
{
	if (e >= 0)
		return;
	fprintf(stderr, "%s: %s\n", program, err_line());
	exit(1);
}

static float *
peers_floats(const char *program, size_t n)
{
	float *p = calloc(n + 1, sizeof(*p));

	peers_must(program, p != NULL ? 0 : err_nomem());
	return p;
}

#endif
