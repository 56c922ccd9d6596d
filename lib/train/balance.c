/* balance - divides the samples of a step among workers by their measured speeds. */
#include "train/balance.h"
#include "base/err.h"
#include "base/grow.h"
#include "base/io.h"
#include "base/num.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define GAIN	20u	/* a change makes a step shorter by at least one part in so many */
#define HEAD	"# batches "
#define FROM	" from step "
#define MOST_LOG ((size_t)1 << 30)	/* bytes of a log */

/* How many samples a worker completes in a time. */
static uint32_t
count_samples(uint64_t ns, uint32_t most, uint64_t time)
{
	uint64_t n = time / ns;

	return n < 1 ? 1 : n < most ? (uint32_t)n : most;
}

/* The time of the slowest worker. */
static uint64_t
find_time(const uint64_t *ns, const uint32_t *batch, uint32_t n)
{
	uint64_t time = 0;

	for (uint32_t i = 0; i < n; i++)
		if (batch[i] * ns[i] > time)
			time = batch[i] * ns[i];
	return time;
}

static uint64_t
count_all(const uint64_t *ns, const uint32_t *most, uint32_t n, uint64_t time)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < n; i++)
		all += count_samples(ns[i], most[i], time);
	return all;
}

bool
balance_divide(const uint64_t *ns, const uint32_t *most, uint32_t n, uint32_t *batch)
{
	uint64_t low = 0, now = find_time(ns, batch, n), high = now, samples = 0, sample = 0, spare;

	for (uint32_t i = 0; i < n; i++) {
		samples += batch[i];
		sample = ns[i] > sample ? ns[i] : sample;
	}
	/* The least time in which all workers together complete the step; in `now` they do. */
	while (low < high) {
		uint64_t time = (low + high) / 2;

		if (count_all(ns, most, n, time) < samples)
			low = time + 1;
		else
			high = time;
	}
	/* Each worker has a sample, however slow it is. */
	if ((high > sample ? high : sample) * GAIN > now * (GAIN - 1))
		return false;
	spare = count_all(ns, most, n, high) - samples;
	for (uint32_t i = 0; i < n; i++) {
		batch[i] = count_samples(ns[i], most[i], high);
		/* More of these than are too many end just in time: a shorter time was too short. */
		if (spare > 0 && batch[i] > 1 && batch[i] * ns[i] == high) {
			batch[i]--;
			spare--;
		}
	}
	return true;
}

int
balance_put(struct buf *b, const uint32_t *batch, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		ERR_TRY(buf_put_fmt(b, "%s%" PRIu32, i > 0 ? ":" : "", batch[i]));
	return 0;
}

int
balance_put_change(struct buf *b, const uint32_t *batch, uint32_t n, uint64_t step)
{
	ERR_TRY(buf_put_fmt(b, "%s", HEAD + strlen("# ")));
	ERR_TRY(balance_put(b, batch, n));
	ERR_TRY(buf_put_fmt(b, FROM "%" PRIu64 " on", step + 1));
	return buf_terminate(b);
}

/* Parses the rest of "# batches A:B from step N on". */
static int
parse_change(char *text, const uint32_t *first, uint32_t workers, struct balance_change *c)
{
	char *step = strstr(text, FROM), *on = step != NULL ? strchr(step + strlen(FROM), ' ') : NULL;
	uint64_t samples = 0, wanted = 0, v;

	if (on == NULL || strcmp(on, " on") != 0)
		return err_fail(ERR_FORMAT, "is not complete");
	*step = *on = 0;
	for (uint32_t i = 0; i < workers; i++) {
		char *word = strsep(&text, ":");

		if (word == NULL)
			return err_fail(ERR_FORMAT, "has %" PRIu32 " batches for %" PRIu32 " workers", i, workers);
		ERR_TRY(num_u64(word, 1, BALANCE_TIMES * first[i], &v));
		c->batch[i] = (uint32_t)v;
		samples += v;
		wanted += first[i];
	}
	if (text != NULL)
		return err_fail(ERR_FORMAT, "has batches for more than %" PRIu32 " workers", workers);
	if (samples != wanted)
		return err_fail(ERR_FORMAT, "has %" PRIu64 " samples a step, and --batch %" PRIu64, samples, wanted);
	ERR_TRY(num_u64(step + strlen(FROM), 1, INT64_MAX, &v));
	c->from = v - 1;
	return 0;
}

static int
read_changes(char *text, const uint32_t *first, uint32_t workers, struct balance_schedule *s)
{
	uint64_t number = 0;
	size_t cap = 0;

	for (char *line; (line = strsep(&text, "\n")) != NULL;) {
		struct balance_change *c = s->change;
		int e;

		number++;
		if (strncmp(line, HEAD, strlen(HEAD)) != 0)
			continue;
		if ((c = grow_by_one(c, s->n, &cap, sizeof(*c))) == NULL)
			return ERR_NOMEM;
		s->change = c;
		c += s->n;
		if ((c->batch = calloc(workers, sizeof(*c->batch))) == NULL)
			return err_nomem();
		s->n++;
		if ((e = parse_change(line + strlen(HEAD), first, workers, c)) < 0) {
			err_within("line %" PRIu64, number);
			return e;
		}
	}
	return s->n > 0 ? 0 : err_fail(ERR_FORMAT, "has no line \"" HEAD "...\" of a run with --balance");
}

int
balance_read(const char *path, const uint32_t *first, uint32_t workers, struct balance_schedule *s)
{
	struct buf b = { 0 };
	int e;

	*s = (struct balance_schedule){ 0 };
	if ((e = io_slurp(path, MOST_LOG, &b)) == 0 && (e = buf_terminate(&b)) == 0)
		e = read_changes((char *)b.p, first, workers, s);
	buf_free(&b);
	if (e < 0)
		balance_free(s);
	return e;
}

void
balance_free(struct balance_schedule *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->change[i].batch);
	free(s->change);
	*s = (struct balance_schedule){ 0 };
}

/* If a run was resumed, its log has an earlier step after later ones. */
const uint32_t *
balance_at(const struct balance_schedule *s, uint64_t step)
{
	for (size_t i = s->n; i > 0; i--)
		if (s->change[i - 1].from <= step)
			return s->change[i - 1].batch;
	return NULL;
}
