/* dataset_sender - requests of one reader in, records out: the server's side without sockets. */
#include "dataset/dataset_sender.h"
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>

#define AHEAD	32u		/* most records that are read before they are sent */
#define AHEAD_BYTES (1u << 18)	/* most bytes of these, without the last one */
#define KEPT	(1u << 16)	/* bytes of a record's buffer that stay allocated between records */

struct ahead {
	struct buf	 room;
	const uint8_t	*data;		/* [size], in room */
	size_t		 size;
};

struct dataset_sender {
	const struct recs *recs;
	uint8_t		 id[8];
	const struct buf *classes;
	bool		 opened, named, held;	/* OPEN was received; all of CLASSES, and HOLDS, were sent */
	size_t		 names_at;	/* bytes of classes that were sent */
	uint64_t	*asked;		/* ring [DATASET_MSG_ASKED] of requested numbers */
	uint32_t	 head, n;	/* first request in the ring, and how many there are */
	uint32_t	 to_read;	/* requests that the next dataset_sender_read() may read */
	struct ahead	 ahead[AHEAD];	/* records of the first requests; ahead[sent..nread) are to be sent */
	uint32_t	 sent, nread;
	bool		 begun;		/* the first at bytes of ahead[sent] are sent */
	size_t		 at;
	int		 err;		/* error of the request after those, and its message; 0: none */
	char		 why[ERR_LINE];
};

struct dataset_sender *
dataset_sender_new(const struct recs *r, uint64_t id, const struct buf *classes)
{
	struct dataset_sender *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->recs = r;
	s->classes = classes;
	le_put64(s->id, id);
	return s;
}

void
dataset_sender_free(struct dataset_sender *s)
{
	if (s == NULL)
		return;
	for (uint32_t k = 0; k < AHEAD; k++)
		buf_free(&s->ahead[k].room);
	free(s->asked);
	free(s);
}

static int
queue_request(struct dataset_sender *s, const struct msg *m)
{
	uint32_t n;

	if (!s->opened)
		return err_fail(ERR_FORMAT, "ASK before OPEN");
	ERR_TRY(dataset_msg_ask(m, s->recs->count, &n));
	if (n > DATASET_MSG_ASKED - s->n)
		return err_fail(ERR_LIMIT, "more than %u requests without an answer", DATASET_MSG_ASKED);
	if (s->asked == NULL && (s->asked = calloc(DATASET_MSG_ASKED, sizeof(*s->asked))) == NULL)
		return err_nomem();
	for (uint32_t k = 0; k < n; k++) {
		uint64_t i = dataset_msg_asked(m, k);

		s->asked[(s->head + s->n++) % DATASET_MSG_ASKED] = i;
		if (s->recs->want != NULL)
			s->recs->want(s->recs, i);
	}
	return 0;
}

int
dataset_sender_take(struct dataset_sender *s, const struct msg *m)
{
	if (m->type == MSG_ASK)
		return queue_request(s, m);
	if (m->type != MSG_OPEN || s->opened)
		return err_fail(ERR_FORMAT, "%s out of place: this is a dataset server", msg_name(m->type));
	s->opened = true;
	return 0;
}

bool
dataset_sender_begin_read(struct dataset_sender *s)
{
	if (s->n == 0 || s->sent < s->nread || s->err != 0)
		return false;
	s->to_read = s->n < AHEAD ? s->n : AHEAD;
	s->sent = s->nread = 0;
	return true;
}

static int
read_asked_record(struct dataset_sender *s, uint64_t i, struct ahead *a)
{
	int e = s->recs->read(s->recs, i, &a->room, &a->data, &a->size);

	if (e == 0 && a->size > DATASET_MSG_LONGEST)
		return err_fail(ERR_LIMIT, "longer than %u bytes", DATASET_MSG_LONGEST);
	return e;
}

void
dataset_sender_read(struct dataset_sender *s)
{
	size_t bytes = 0;

	while (s->nread < s->to_read && bytes < AHEAD_BYTES) {
		struct ahead *a = &s->ahead[s->nread];

		if ((s->err = read_asked_record(s, s->asked[(s->head + s->nread) % DATASET_MSG_ASKED], a)) < 0) {
			snprintf(s->why, sizeof(s->why), "%s", err_line());
			return;
		}
		bytes += a->size;
		s->nread++;
	}
}

static void
drop_request(struct dataset_sender *s)
{
	s->head = (s->head + 1) % DATASET_MSG_ASKED;
	s->n--;
}

static void
end_record(struct dataset_sender *s)
{
	buf_trim(&s->ahead[s->sent++].room, KEPT);
	s->begun = false;
	s->at = 0;
	drop_request(s);
}

/* Fills in the next part of data [size], of which *at bytes were sent. */
static void
fill_part(struct msg *m, const uint8_t *data, size_t size, size_t *at)
{
	size_t n = size - *at < DATASET_MSG_PART ? size - *at : DATASET_MSG_PART;

	m->slice = (uint32_t)*at;
	m->samples = (uint32_t)size;
	m->len = (uint32_t)n;
	m->payload = n > 0 ? data + *at : NULL;
	*at += n;
}

static void
fill_record_msg(struct dataset_sender *s, struct msg *m)
{
	const struct ahead *a = &s->ahead[s->sent];

	*m = (struct msg){ .type = MSG_RECORD, .step = s->asked[s->head] };
	fill_part(m, a->data, a->size, &s->at);
	s->begun = true;
}

/* What a reader has to know before the first record. */
static void
fill_opening_msg(struct dataset_sender *s, struct msg *m)
{
	if (!s->named) {
		*m = (struct msg){ .type = MSG_CLASSES };
		fill_part(m, s->classes->p, s->classes->n, &s->names_at);
		s->named = s->names_at == s->classes->n;
	} else {
		*m = (struct msg){ .type = MSG_HOLDS, .step = s->recs->count, .len = sizeof(s->id), .payload = s->id };
		s->held = true;
	}
}

/* The answer for a record that cannot be read. */
static int
fill_error_msg(struct dataset_sender *s, struct msg *m)
{
	if (s->err == ERR_NOMEM)
		return err_nomem();
	*m = (struct msg){ .type = MSG_RECORD, .flags = MSG_EMPTY, .step = s->asked[s->head],
	    .len = (uint32_t)strlen(s->why), .payload = s->why };
	s->err = 0;
	drop_request(s);
	return 1;
}

int
dataset_sender_next(struct dataset_sender *s, struct msg *m)
{
	if (s->opened && !s->held) {
		fill_opening_msg(s, m);
		return 1;
	}
	if (s->begun && s->at == s->ahead[s->sent].size)
		end_record(s);
	if (s->sent < s->nread) {
		fill_record_msg(s, m);
		return 1;
	}
	return s->err != 0 ? fill_error_msg(s, m) : 0;
}
