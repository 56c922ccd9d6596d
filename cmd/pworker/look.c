/* look - the sizes of a few images of the records, before the first step. */
#include "pworker/look.h"
#include "front.h"
#include "front_wait.h"

#include "base/err.h"
#include "base/io.h"
#include "record/rec.h"
#include "record/recimg.h"
#include "record/recs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COLOUR_LOOKS	4u	/* images that are decoded to know whether they have colours */
#define PEEKED		65536u	/* bytes of a pipe that are looked at: what it holds */

static void
add_size(struct pworker_look *l, const struct imrec *rec, const struct img *size)
{
	l->labels = rec->labels;
	l->h[l->n] = size->h;
	l->w[l->n++] = size->w;
}

static void
look_at_records(const struct recs *r, struct pworker_look *l)
{
	uint64_t looks = r->count < PWORKER_LOOKS ? r->count : PWORKER_LOOKS;
	struct recimg *reader;
	struct imrec rec;
	struct img size;

	if (looks == 0)
		return;
	front_must(NULL, recimg_new(r, 3, &reader));
	for (uint64_t i = 0; i < looks; i++)
		if (recimg_head(reader, i * (r->count / looks), &rec, &size) == 0)
			add_size(l, &rec, &size);
	recimg_free(reader);
}

/* The next record of p [n]; the header of an image is enough, so that the last record may lack its end. */
static bool
find_record(uint8_t *p, size_t n, const uint8_t **data, size_t *len, size_t *used)
{
	enum rec_part part;
	uint32_t whole;
	int e = rec_join(p, n, 0, data, len, used);

	if (e == 0)
		return true;
	if (e != ERR_SHORT || n <= REC_HEAD || rec_head(p, 0, false, &part, &whole) < 0 || part != REC_WHOLE)
		return false;
	*data = p + REC_HEAD;
	*len = n - REC_HEAD;
	*used = n;
	return true;
}

static void
look_at_input(struct pworker_look *l)
{
	uint8_t *p = malloc(PEEKED);
	size_t n = 0, at = 0, len, used;
	struct recimg *reader;
	const uint8_t *data;
	struct imrec rec;
	struct img size;

	if (p == NULL)
		front_die(NULL, err_nomem());
	front_must("-", io_peek(STDIN_FILENO, p, PEEKED, &n));
	front_must(NULL, recimg_new(NULL, 3, &reader));
	while (l->n < PWORKER_LOOKS && at < n && find_record(p + at, n - at, &data, &len, &used)) {
		if (recimg_head_of(reader, data, len, &rec, &size) == 0)
			add_size(l, &rec, &size);
		at += used;
	}
	recimg_free(reader);
	free(p);
}

void
pworker_look(const struct recs *r, const char *path, struct pworker_look *l)
{
	*l = (struct pworker_look){ 0 };
	if (r != NULL) {
		look_at_records(r, l);
	} else if (path != NULL && strcmp(path, "-") == 0) {
		front_wait_read("-");
		look_at_input(l);
	}
}

bool
pworker_look_alike(const struct pworker_look *l)
{
	for (uint32_t i = 1; i < l->n; i++)
		if (l->h[i] != l->h[0] || l->w[i] != l->w[0])
			return false;
	return l->n > 0;
}

static uint32_t
get_shorter_side(const struct pworker_look *l, uint32_t i)
{
	return l->h[i] < l->w[i] ? l->h[i] : l->w[i];
}

uint32_t
pworker_look_side(const struct pworker_look *l)
{
	uint32_t side = 0;

	for (uint32_t i = 0; i < l->n; i++) {
		if (i > 0 && get_shorter_side(l, i) != side)
			return 0;
		side = get_shorter_side(l, i);
	}
	return side <= 65536 ? side : 0;
}

uint32_t
pworker_look_largest(const struct pworker_look *l)
{
	uint32_t at = 0;

	for (uint32_t i = 1; i < l->n; i++)
		if (get_shorter_side(l, i) > get_shorter_side(l, at))
			at = i;
	return at;
}

bool
pworker_look_differs(const struct pworker_look *l, uint32_t side)
{
	uint64_t larger = 0, smaller = 0;

	for (uint32_t i = 0; i < l->n; i++) {
		larger += 3 * (uint64_t)get_shorter_side(l, i) > 4 * (uint64_t)side;
		smaller += 4 * (uint64_t)get_shorter_side(l, i) < 3 * (uint64_t)side;
	}
	return l->n > 0 && side > 0 && (larger == l->n || smaller == l->n);
}

bool
pworker_look_loses(const struct pworker_look *l, uint32_t side, bool random)
{
	uint64_t keeps = random ? 2 * (uint64_t)side : (uint64_t)side * 4 / 3;
	uint32_t loses = 0;

	for (uint32_t i = 0; i < l->n; i++)
		loses += get_shorter_side(l, i) > keeps;
	return loses > 0 && 4 * loses >= l->n;
}

bool
pworker_look_colours(const struct recs *r)
{
	struct recimg *reader;
	struct imrec rec;
	struct img image;
	bool found = false;

	if (r == NULL)
		return false;
	front_must(NULL, recimg_new(r, 3, &reader));
	for (uint64_t i = 0; i < r->count && i < COLOUR_LOOKS && !found; i++)
		if (recimg_get(reader, i * (r->count / COLOUR_LOOKS), &rec, &image) == 0)
			for (size_t at = 0, n = (size_t)image.h * image.w * 3; at < n && !found; at += 3)
				found = image.p[at] != image.p[at + 1] || image.p[at] != image.p[at + 2];
	recimg_free(reader);
	return found;
}
