/*
 * choose - the fastest of several kernels for a convolution, from the autotune cache or by a race.
 */
#include "engine/cuda/device/choose.h"
#include "engine/cuda/kernel/kernel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "NVIDIA H200 ... bf16 forward n64 c3 h28 w28 ... fixed", with tabs between the cells. */
static void
write_choice_key(const struct device *d, const struct dnn_shape *s, char key[ENGINE_KEY])
{
	static const char *const way[] = { "forward", "data", "weight" };
	const char *type = s->type == KERNEL_BF16 ? "bf16" : s->type == KERNEL_F16 ? "f16" : s->tf32 ? "tf32" : "f32";
	char kind[DEVICE_KIND];

	device_kind(d, kind);
	snprintf(key, ENGINE_KEY,
	    "%s\t%s\t%s n%u c%u h%u w%u k%u oh%u ow%u r%u s%u stride%u,%u pad%u,%u dilate%u,%u groups%u%s%s%s\t%s",
	    kind, type, way[s->way], s->n, s->c, s->h, s->w, s->k, s->oh, s->ow, s->r, s->s, s->stride[0], s->stride[1],
	    s->pad[0], s->pad[1], s->dilate[0], s->dilate[1], s->groups, s->addend ? " more" : "",
	    s->bias > 0 ? " bias" : "", s->relu ? " relu" : "", s->any_order ? "any" : "fixed");
}

static int
compare_by_time(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Returns the fastest candidate, or n if none runs. */
static uint32_t
race_kernels(const struct choose_candidates *candidates)
{
	double best = INFINITY, us[CHOOSE_RUNS];
	uint32_t winner = candidates->n;

	for (uint32_t i = 0; i < candidates->n; i++) {
		if (!candidates->race(candidates->arg, i, us))
			continue;
		qsort(us, CHOOSE_RUNS, sizeof(*us), compare_by_time);
		if (us[CHOOSE_RUNS / 2] < best) {
			best = us[CHOOSE_RUNS / 2];
			winner = i;
		}
	}
	return winner;
}

uint32_t
choose_kernel(const struct device *d, const struct dnn_shape *shape, const struct engine_tune *tune,
    const struct choose_candidates *candidates)
{
	char key[ENGINE_KEY], before[ENGINE_CHOICE];
	uint32_t winner;

	write_choice_key(d, shape, key);
	/*
	 * A cached name that is no candidate is ignored: the libraries differ although their
	 * versions are equal.
	 */
	if (tune->find != NULL && tune->find(tune->arg, key, before))
		for (uint32_t i = 0; i < candidates->n; i++)
			if (strcmp(before, candidates->name[i]) == 0)
				return i;
	if ((winner = race_kernels(candidates)) == candidates->n)
		return 0;
	if (tune->keep != NULL)
		tune->keep(tune->arg, key, candidates->name[winner]);
	return winner;
}
