/* dataset_sender - requests of one reader in, records out: the server's side without sockets. */
#include "dataset/dataset_sender.h"
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>

#define KEPT	(1u << 20)	/* bytes of a record's buffer that stay allocated between records */

struct dataset_sender {
	const struct recs *recs;
	uint8_t		 id[8];
	bool		 opened, held;	/* OPEN was received; HOLDS was sent */
	uint64_t	*asked;		/* ring [DATASET_MSG_ASKED] of requested numbers */
	uint32_t	 head, n;	/* first request in the ring, and how many there are */
	struct buf	 room;		/* buffer of the record that is being sent */
	const uint8_t	*data;		/* its bytes, of which data[at..size) are left to send; NULL: no record */
	size_t		 at, size;
	char		 why[ERR_LINE];
};

struct dataset_sender *
dataset_sender_new(const struct recs *r, uint64_t id)
{
	struct dataset_sender *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->recs = r;
	le_put64(s->id, id);
	return s;
}

void
dataset_sender_free(struct dataset_sender *s)
{
	if (s == NULL)
		return;
	buf_free(&s->room);
	free(s->asked);
	free(s);
}

static int
queue_request(struct dataset_sender *s, const struct msg *m)
{
	uint32_t n;
	int e;

	if (!s->opened)
		return err_fail(ERR_FORMAT, "ASK before OPEN");
	if ((e = dataset_msg_ask(m, s->recs->count, &n)) < 0)
		return e;
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

/* Reads record i, the first in the ring. */
static int
read_asked_record(struct dataset_sender *s, uint64_t i)
{
	int e = s->recs->read(s->recs, i, &s->room, &s->data, &s->size);

	s->at = 0;
	if (e == 0 && s->size > DATASET_MSG_LONGEST)
		return err_fail(ERR_LIMIT, "longer than %u bytes", DATASET_MSG_LONGEST);
	return e;
}

/* Ends the record that was sent, and its request. */
static void
drop_asked_record(struct dataset_sender *s)
{
	s->data = NULL;
	if (s->room.cap > KEPT)
		buf_free(&s->room);
	s->head = (s->head + 1) % DATASET_MSG_ASKED;
	s->n--;
}

static void
fill_record_msg(struct dataset_sender *s, struct msg *m)
{
	size_t n = s->size - s->at < DATASET_MSG_PART ? s->size - s->at : DATASET_MSG_PART;

	*m = (struct msg){ .type = MSG_RECORD, .step = s->asked[s->head], .slice = (uint32_t)s->at,
	    .samples = (uint32_t)s->size, .len = (uint32_t)n, .payload = s->data + s->at };
	s->at += n;
}

int
dataset_sender_next(struct dataset_sender *s, struct msg *m)
{
	int e;

	if (s->opened && !s->held) {
		s->held = true;
		*m = (struct msg){ .type = MSG_HOLDS, .step = s->recs->count, .len = sizeof(s->id), .payload = s->id };
		return 1;
	}
	if (s->data != NULL && s->at == s->size)
		drop_asked_record(s);
	if (s->n == 0)
		return 0;
	if (s->data == NULL && (e = read_asked_record(s, s->asked[s->head])) < 0) {
		if (e == ERR_NOMEM)
			return e;
		snprintf(s->why, sizeof(s->why), "%s", err_line());
		*m = (struct msg){ .type = MSG_RECORD, .flags = MSG_EMPTY, .step = s->asked[s->head],
		    .len = (uint32_t)strlen(s->why), .payload = s->why };
		drop_asked_record(s);
		return 1;
	}
	fill_record_msg(s, m);
	return 1;
}
