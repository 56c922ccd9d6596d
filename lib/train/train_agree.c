/*
 * train_agree - compares options and records of all workers of a synchronous job before the first step, and tells them
 * at which step worker 0 makes the first cut.
 */
#include "train/train_in.h"
#include "base/err.h"
#include "base/hash.h"
#include "record/recid.h"
#include "train/preprocess.h"

#include <string.h>

/* One number for the batches of all workers. */
static uint64_t
hash_batches(const struct train_opt *o)
{
	if (o->batches == NULL)
		return o->data.batch;
	return hash_update(HASH_START, o->batches, o->ps.nworkers * sizeof(*o->batches));
}

/* One number for how the batches change; 0: they do not. */
static uint64_t
hash_balance(const struct train_opt *o)
{
	uint64_t hash = HASH_START;

	for (size_t i = 0; o->balance != NULL && i < o->balance->n; i++) {
		const struct balance_change *c = &o->balance->change[i];

		hash = hash_update(hash, &c->from, sizeof(c->from));
		hash = hash_update(hash, c->batch, o->ps.nworkers * sizeof(*c->batch));
	}
	return o->balance != NULL ? hash : 0;
}

/* The ids of the records, if several workers read the same ones. */
static int
get_record_ids(const struct train *t, uint64_t id[2])
{
	const struct recs *recs[2] = { t->o->data.recs, t->o->val_recs };
	int e = 0;

	for (int i = 0; e == 0 && i < 2; i++)
		if (t->sync && t->o->ps.nworkers > 1 && recs[i] != NULL)
			e = recid_of(recs[i], &id[i]);
	return e;
}

/* One number for the way from an image to a sample. */
static int
hash_preprocessing(const struct train_opt *o, uint64_t *hash)
{
	struct preprocess images;
	struct buf text = { 0 };
	int e;

	preprocess_from_aug(&o->data.aug, &images);
	if ((e = preprocess_put(&images, &text)) == 0)
		*hash = hash_update(HASH_START, text.p, text.n);
	buf_free(&text);
	return e;
}

/* One number for what labels stand for, and their weights. */
static uint64_t
hash_classes(const struct train_opt *o)
{
	uint64_t hash = hash_update(HASH_START, o->data.class_of, o->data.labels * sizeof(*o->data.class_of));

	if (o->data.class_weight != NULL)
		hash = hash_update(hash, o->data.class_weight, o->ps.graph->classes * sizeof(*o->data.class_weight));
	if (o->data.weighted)
		hash = hash_update(hash, &o->data.weight_at, sizeof(o->data.weight_at));
	hash = hash_update(hash, &o->data.label_at, sizeof(o->data.label_at));
	return hash_update(hash, o->val_class_of, o->val_labels * sizeof(*o->val_class_of));
}

/* One number for the optimizers in the workers, of which servers do not know. */
static uint64_t
hash_local_optimizer(const struct train_opt *o)
{
	const struct opt_hyper *h = &o->local_hyper;
	const float of[] = { h->momentum, h->wd, h->l1, h->clip, h->beta2, h->eps };
	uint64_t hash = hash_update(HASH_START, &h->rule, sizeof(h->rule));

	if (!o->local)
		return 0;
	hash = hash_update(hash, of, sizeof(of));
	return hash_update(hash, o->local_mults, strlen(o->local_mults));
}

static uint64_t
hash_settings(const struct train_opt *o)
{
	const struct settings *s = o->ps.settings;

	return s != NULL ? hash_update(HASH_START, s->at, s->n * sizeof(s->at[0])) : 0;
}

int
train_agree(struct train *t)
{
	const struct train_opt *o = t->o;
	uint64_t id[2] = { 0 }, images = 0;
	int e = get_record_ids(t, id), failed = hash_preprocessing(o, &images);
	const struct {
		const char *what;
		uint64_t    v;
	} mine[] = {
		{ "--drop-last", o->data.drop_last },	/* before the number of records, which depends on it */
		{ "the number of records", batch_records(t->in) },
		{ "what is in the records", id[0] },
		{ "the number of records to validate on", t->val != NULL ? batch_records(t->val) : 0 },
		{ "what is in the records to validate on", id[1] },
		{ "--dtype", o->precision },
		{ "--batch", hash_batches(o) },
		{ "--balance or its log", hash_balance(o) },
		{ "--local-steps", o->local ? o->accumulate : 0 },
		{ "--accumulate", o->accumulate },
		{ "--optimizer or one of its options", hash_local_optimizer(o) },
		{ "--epochs", o->epochs },
		{ "--steps", o->steps },
		{ "--seed", o->seed },
		{ "--best", o->best },
		{ "--patience", o->patience },
		{ "--cut-copies", o->cut_copies },
		{ "--no-shuffle", o->data.shuffle },
		{ "the names of classes beside the records or in --resume, --class-weights, --weight-at or --label-at",
		    hash_classes(o) },
		{ "TALLY_SET", hash_settings(o) },
		{ "--scale, --resize or other options for images", images },
	};
	enum { N = sizeof(mine) / sizeof(*mine) };
	/* Halves of numbers: a double holds sums of 32 bits without rounding. */
	double v[2 * N + 3] = { [2 * N] = (double)train_first_cut(t), t->best, (double)t->best_epoch };

	if (e < 0 || failed < 0)
		return e < 0 ? e : failed;
	for (int i = 0; i < N; i++) {
		v[2 * i] = (double)(mine[i].v & UINT32_MAX);
		v[2 * i + 1] = (double)(mine[i].v >> 32);
	}
	if (t->sync)
		ERR_TRY(train_sum(t, TRAIN_AGREES, v, 2 * N + 3));
	t->best = v[2 * N + 1];
	t->best_epoch = (uint64_t)v[2 * N + 2];
	t->cuts.next = v[2 * N] > 0 ? t->step + (uint64_t)v[2 * N] : 0;
	for (int i = 0; i < N && t->sync; i++)
		if (v[2 * i] != (double)(mine[i].v & UINT32_MAX) * o->ps.nworkers ||
		    v[2 * i + 1] != (double)(mine[i].v >> 32) * o->ps.nworkers)
			return err_fail(ERR_ARG, "%s: not the same in all workers", mine[i].what);
	return 0;
}
