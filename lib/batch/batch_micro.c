/* batch_micro - divides a step's records into micro-batches: internal to batch. */
#include "base/err.h"
#include "batch/batch_in.h"

#define SIDE	65536u	/* most pixels of a sample's side */

/* Where a micro-batch begins if all divide `of` records by their sizes.  check_sizes() keeps products below 2^64. */
static uint64_t
begin_micro(const struct batch_reader *r, uint32_t micro, uint64_t of)
{
	uint64_t before = 0;

	for (uint32_t p = 0; p < micro; p++)
		before += r->opt.sizes[p];
	return before * of / r->whole;
}

void
batch_cut(const struct batch_reader *r, uint64_t step, uint32_t micro, uint64_t *first, uint32_t *n)
{
	uint64_t begin = step * r->whole, left = r->records - begin;

	if (r->opt.sizes != NULL) {
		uint64_t of = left < r->whole ? left : r->whole, from = begin_micro(r, micro, of);

		*first = begin + from;
		*n = (uint32_t)(begin_micro(r, micro + 1, of) - from);
	} else if (left >= r->whole) {
		*first = begin + (uint64_t)micro * r->opt.batch;
		*n = r->opt.batch;
	} else {
		uint64_t each = left / r->opt.micros, longer = left % r->opt.micros;

		*first = begin + micro * each + (micro < longer ? micro : longer);
		*n = (uint32_t)(each + (micro < longer));
	}
}

static int
check_sizes(const struct batch_opt *o)
{
	uint64_t whole = 0;

	for (uint32_t p = 0; o->sizes != NULL && p < o->micros; p++) {
		bool mine = p >= o->first_micro && p - o->first_micro < o->my_micros;

		whole += o->sizes[p];
		if (o->sizes[p] == 0 || (mine && o->sizes[p] > o->batch) || whole > UINT32_MAX)
			return err_fail(ERR_ARG, "micro-batch %u of a step cannot have %u records", p, o->sizes[p]);
	}
	return 0;
}

uint64_t
batch_cut_whole(const struct batch_opt *o)
{
	uint64_t whole = 0;

	if (o->sizes == NULL)
		return (uint64_t)o->micros * o->batch;
	for (uint32_t p = 0; p < o->micros; p++)
		whole += o->sizes[p];
	return whole;
}

int
batch_cut_check(const struct batch_opt *o)
{
	if (o->batch == 0)
		return err_fail(ERR_ARG, "a batch of no records");
	if (o->aug.c != 1 && o->aug.c != 3)
		return err_fail(ERR_ARG, "%u channels: a sample has 1 or 3", o->aug.c);
	if (o->aug.h == 0 || o->aug.w == 0 || o->aug.h > SIDE || o->aug.w > SIDE)
		return err_fail(ERR_ARG, "a sample of %ux%u pixels", o->aug.w, o->aug.h);
	if (o->first_micro >= o->micros || o->my_micros > o->micros - o->first_micro)
		return err_fail(ERR_ARG, "micro-batches %u..%llu are not among the %u of a step", o->first_micro,
		    (unsigned long long)o->first_micro + o->my_micros - 1, o->micros);
	return check_sizes(o);
}
