/* dataset_sender - what one reader asks for in, records out: the holder's side without sockets. */
#include "dataset/dataset_sender.h"
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>

#define KEPT	(1u << 20)	/* bytes of room that an idle reader may keep */
#define LINE	400u

struct dataset_sender {
	const struct recs *recs;
	uint8_t		 id[8];
	bool		 opened, held;	/* OPEN came; HOLDS was given */
	uint64_t	*asked;		/* a ring [DATASET_MSG_ASKED] */
	uint32_t	 head, n;
	struct buf	 room;		/* for the record that is being given ... */
	const uint8_t	*data;		/* ... data[at..size) of it still to be given; NULL: none */
	size_t		 at, size;
	char		 why[LINE];
};

struct dataset_sender *
dataset_sender_new(const struct recs *r, uint64_t id)
{
	struct dataset_sender *g = calloc(1, sizeof(*g));

	if (g == NULL)
		return NULL;
	g->recs = r;
	le_put64(g->id, id);
	return g;
}

void
dataset_sender_free(struct dataset_sender *g)
{
	if (g == NULL)
		return;
	buf_free(&g->room);
	free(g->asked);
	free(g);
}

static int
take_ask(struct dataset_sender *g, const struct msg *m)
{
	uint32_t n;
	int e;

	if (!g->opened)
		return err_fail(ERR_FORMAT, "ASK before OPEN");
	if ((e = dataset_msg_ask(m, g->recs->count, &n)) < 0)
		return e;
	if (n > DATASET_MSG_ASKED - g->n)
		return err_fail(ERR_LIMIT, "asks for more than %u records that have not come", DATASET_MSG_ASKED);
	if (g->asked == NULL && (g->asked = calloc(DATASET_MSG_ASKED, sizeof(*g->asked))) == NULL)
		return err_nomem();
	for (uint32_t k = 0; k < n; k++) {
		uint64_t i = dataset_msg_asked(m, k);

		g->asked[(g->head + g->n++) % DATASET_MSG_ASKED] = i;
		if (g->recs->want != NULL)
			g->recs->want(g->recs, i);
	}
	return 0;
}

int
dataset_sender_take(struct dataset_sender *g, const struct msg *m)
{
	if (m->type == MSG_ASK)
		return take_ask(g, m);
	if (m->type != MSG_OPEN || g->opened)
		return err_fail(ERR_FORMAT, "%s out of place: records are given out here", msg_name(m->type));
	g->opened = true;
	return 0;
}

/* Reads the record asked for first. */
static int
begin(struct dataset_sender *g, uint64_t i)
{
	int e = g->recs->read(g->recs, i, &g->room, &g->data, &g->size);

	g->at = 0;
	if (e == 0 && g->size > DATASET_MSG_LONGEST)
		return err_fail(ERR_LIMIT, "longer than %u bytes", DATASET_MSG_LONGEST);
	return e;
}

/* Leaves the record that was given. */
static void
end(struct dataset_sender *g)
{
	g->data = NULL;
	if (g->room.cap > KEPT)
		buf_free(&g->room);
	g->head = (g->head + 1) % DATASET_MSG_ASKED;
	g->n--;
}

static void
part(struct dataset_sender *g, struct msg *m)
{
	size_t n = g->size - g->at < DATASET_MSG_PART ? g->size - g->at : DATASET_MSG_PART;

	*m = (struct msg){ .type = MSG_RECORD, .step = g->asked[g->head], .slice = (uint32_t)g->at,
	    .samples = (uint32_t)g->size, .len = (uint32_t)n, .payload = g->data + g->at };
	g->at += n;
}

int
dataset_sender_next(struct dataset_sender *g, struct msg *m)
{
	int e;

	if (g->opened && !g->held) {
		g->held = true;
		*m = (struct msg){ .type = MSG_HOLDS, .step = g->recs->count, .len = sizeof(g->id), .payload = g->id };
		return 1;
	}
	if (g->data != NULL && g->at == g->size)
		end(g);
	if (g->n == 0)
		return 0;
	if (g->data == NULL && (e = begin(g, g->asked[g->head])) < 0) {
		if (e == ERR_NOMEM)
			return e;
		snprintf(g->why, sizeof(g->why), "%s", err_line());
		*m = (struct msg){ .type = MSG_RECORD, .flags = MSG_EMPTY, .step = g->asked[g->head],
		    .len = (uint32_t)strlen(g->why), .payload = g->why };
		end(g);
		return 1;
	}
	part(g, m);
	return 1;
}
