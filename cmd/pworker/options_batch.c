/* options_batch - the option --batch: "16" for all workers, or "16:48", a number a worker. */
#include "pworker/options_batch.h"
#include "front.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

void
worker_batch_take(struct worker_batch *b, char *text)
{
	uint32_t n = 1, i = 0;

	for (const char *p = text; *p != 0; p++)
		n += *p == ':';
	free(b->each);
	if ((b->each = calloc(n, sizeof(*b->each))) == NULL)
		front_die("--batch", err_nomem());
	for (char *word; (word = strsep(&text, ":")) != NULL;)
		b->each[i++] = (uint32_t)front_num("--batch", word, 1, 65536);
	b->n = n;
}

uint32_t
worker_batch_most(const struct worker_batch *b)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < b->n; i++)
		most = b->each[i] > most ? b->each[i] : most;
	return most;
}

void
worker_batch_settle(const struct worker_batch *b, struct train_opt *t)
{
	bool alike = true;

	if (b->each == NULL)
		return;
	if (b->n > 1 && b->n != t->ps.nworkers)
		front_wrong("--batch: %u numbers for %u workers", b->n, t->ps.nworkers);
	for (uint32_t i = 1; i < b->n; i++)
		alike &= b->each[i] == b->each[0];
	/* Batches that are all alike are one number, so that the bits are those of it. */
	t->data.batch = b->each[alike ? 0 : t->ps.rank];
	t->batches = alike ? NULL : b->each;
}
