/* average - moving averages of the weights. */
#include "net/optim/average.h"

#include <string.h>

static const char *const name[AVERAGE_KINDS] = { "none", "ema", "swa", "lookahead" };

const char *
average_name(enum average_kind kind)
{
	return name[kind];
}

bool
average_find(const char *text, enum average_kind *kind)
{
	for (int i = 0; i < AVERAGE_KINDS; i++)
		if (strcmp(text, name[i]) == 0) {
			*kind = (enum average_kind)i;
			return true;
		}
	return false;
}

static void
move_average(float *restrict a, const float *restrict w, size_t count, float by)
{
	for (size_t i = 0; i < count; i++)
		a[i] = a[i] + by * (w[i] - a[i]);
}

static void
copy_average(float *to, const float *from, size_t count)
{
	if (count > 0)
		memcpy(to, from, count * sizeof(*to));
}

bool
average_step(const struct average *o, float *a, float *w, size_t count, uint32_t n, uint64_t t, bool marked,
    bool statistics)
{
	switch (o->kind) {
	case AVERAGE_EMA:
		if (n == 0)
			copy_average(a, w, count);
		else
			move_average(a, w, count, 1 - o->rate);
		return true;
	case AVERAGE_SWA:
		if (marked && n == 0)
			copy_average(a, w, count);
		else if (marked)
			move_average(a, w, count, 1 / ((float)n + 1));
		return marked;
	case AVERAGE_LOOKAHEAD:
		if (statistics)
			copy_average(a, w, count);
		else if (t % o->every == 0) {
			move_average(a, w, count, o->rate);
			copy_average(w, a, count);
		}
		return true;
	case AVERAGE_NONE:
	case AVERAGE_KINDS:
		break;
	}
	return false;
}
