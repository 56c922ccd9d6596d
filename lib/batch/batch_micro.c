/* batch_micro - how a step's records are dealt in pieces: serves batch. */
#include "base/err.h"
#include "batch/batch_in.h"

#define SIDE	65536u	/* pixels; a sample's longest */

/* Where a piece begins, of pieces of the sizes given that share `of` records: products stay below 2^64 (check). */
static uint64_t
begin_of(const struct batch_reader *r, uint32_t piece, uint64_t of)
{
	uint64_t before = 0;

	for (uint32_t p = 0; p < piece; p++)
		before += r->opt.sizes[p];
	return before * of / r->whole;
}

/* Which of the epoch's records make up a piece of a step. */
void
batch_cut(const struct batch_reader *r, uint64_t step, uint32_t piece, uint64_t *first, uint32_t *n)
{
	uint64_t begin = step * r->whole, left = r->records - begin;

	if (r->opt.sizes != NULL) {
		uint64_t of = left < r->whole ? left : r->whole, from = begin_of(r, piece, of);

		*first = begin + from;
		*n = (uint32_t)(begin_of(r, piece + 1, of) - from);
	} else if (left >= r->whole) {
		*first = begin + (uint64_t)piece * r->opt.batch;
		*n = r->opt.batch;
	} else {
		uint64_t each = left / r->opt.pieces, longer = left % r->opt.pieces;

		*first = begin + piece * each + (piece < longer ? piece : longer);
		*n = (uint32_t)(each + (piece < longer));
	}
}

static int
check_sizes(const struct batch_opt *o)
{
	uint64_t whole = 0;

	for (uint32_t p = 0; o->sizes != NULL && p < o->pieces; p++) {
		bool mine = p >= o->first_piece && p - o->first_piece < o->my_pieces;

		whole += o->sizes[p];
		if (o->sizes[p] == 0 || (mine && o->sizes[p] > o->batch) || whole > UINT32_MAX)
			return err_fail(ERR_ARG, "piece %u of a step: %u records", p, o->sizes[p]);
	}
	return 0;
}

uint64_t
batch_cut_whole(const struct batch_opt *o)
{
	uint64_t whole = 0;

	if (o->sizes == NULL)
		return (uint64_t)o->pieces * o->batch;
	for (uint32_t p = 0; p < o->pieces; p++)
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
	if (o->first_piece >= o->pieces || o->my_pieces > o->pieces - o->first_piece)
		return err_fail(ERR_ARG, "pieces %u..%llu are not among the %u of a step", o->first_piece,
		    (unsigned long long)o->first_piece + o->my_pieces - 1, o->pieces);
	return check_sizes(o);
}
