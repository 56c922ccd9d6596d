/*
 * recs_test - each reader gets its records, each once, byte for byte, whoever dies at whatever time.
 *
 * One server and some readers over a network in memory; each reader has a few threads that request, wait and read.
 * One integer decides who reads what, which message comes next, and whose connection breaks.
 */
#include "made.h"
#include "tap.h"

#include "base/rng.h"
#include "dataset/dataset_reader.h"
#include "dataset/dataset_sender.h"
#include "law/pair.h"

#include <stdlib.h>

#define READERS	3	/* at most; party 0 is the server */
#define THREADS	4
#define COUNT	120	/* records in all */
#define READS	150	/* by a reader */
#define TURNS	200000
#define MEMORY	100000

static const struct buf names = { .p = (uint8_t *)"ant\nbee\n", .n = 8 };

struct reader {
	struct dataset_reader	*ask;
	struct dataset_sender	*give;		/* the server's side of it */
	bool			 reading;	/* a thread of the server has not read yet */
	struct buf	 names;		/* CLASSES that were received */
	bool		 named, open;	/* all of them, and HOLDS, were received */
	uint32_t	 order[READS], next, wanted, done;
	struct dataset_reader_item *item[THREADS];	/* waited for */
	uint32_t	 number[THREADS];
};

struct world {
	struct made	 made;
	struct pair	*net;
	struct rng	 rng;
	struct reader	 r[READERS];
	unsigned	 readers;
	const char	*wrong;
};

static void
fail(struct world *x, const char *why)
{
	if (x->wrong == NULL)
		x->wrong = why;
}

/* The reader reconnects. */
static void
join(struct world *x, unsigned k)
{
	struct reader *r = &x->r[k];

	pair_cut(x->net, k + 1);
	dataset_reader_lost(r->ask);
	dataset_sender_free(r->give);
	r->give = dataset_sender_new(&x->made.recs, 77, &names);
	r->reading = false;
	r->named = r->open = false;
	r->names.n = 0;
	pair_send(x->net, k + 1, 0, &(struct msg){ .type = MSG_OPEN });
}

static void
come(struct world *x, unsigned k, const struct msg *m)
{
	struct reader *r = &x->r[k];
	uint64_t count, id;
	bool claimed;

	if (m->type == MSG_CLASSES) {
		r->named = !r->named && dataset_msg_classes(m, &r->names) == 1 && r->names.n == names.n &&
		    memcmp(r->names.p, names.p, names.n) == 0;
		if (!r->named)
			fail(x, "CLASSES");
	} else if (m->type == MSG_HOLDS) {
		r->open = r->named && dataset_msg_holds(m, &count, &id) == 0 && count == COUNT && id == 77;
		if (!r->open)
			fail(x, "HOLDS");
	} else if (dataset_reader_receive(r->ask, m, &claimed) < 0) {
		fail(x, "the answer is refused");
	}
}

static void
deliver(struct world *x)
{
	unsigned from, to;
	struct msg m;

	if (!pair_next(x->net, &from, &to, &m))
		return;
	if (to != 0)
		come(x, to - 1, &m);
	else if (dataset_sender_take(x->r[from - 1].give, &m) < 0)
		fail(x, "the request is refused");
}

/* A thread of a reader begins to wait for its next record, or takes it. */
static void
read_on(struct world *x, struct reader *r, unsigned t)
{
	struct buf room = { 0 };
	int e;

	if (r->item[t] == NULL) {
		if (r->next < READS) {
			r->number[t] = r->order[r->next++];
			r->item[t] = dataset_reader_claim(r->ask, r->number[t]);
		}
		return;
	}
	if ((e = dataset_reader_take(r->ask, r->item[t], &room)) == 0)
		return;
	if (made_fails(r->number[t]) ? e != ERR_FORMAT : e != 1 || !made_is(r->number[t], room.p, room.n, 0))
		fail(x, "the record is another");
	buf_free(&room);
	r->item[t] = NULL;
	r->done++;
}

/* Reading is an event of its own: requests arrive between its begin and its end. */
static void
send_or_read(struct world *x, unsigned k)
{
	struct reader *r = &x->r[k];
	struct msg m;

	if (r->reading) {
		dataset_sender_read(r->give);
		r->reading = false;
	} else if (dataset_sender_next(r->give, &m) > 0) {
		pair_send(x->net, 0, k + 1, &m);
	} else {
		r->reading = dataset_sender_begin_read(r->give);
	}
}

static void
turn(struct world *x, uint32_t deaths)
{
	unsigned k = (unsigned)rng_below(&x->rng, x->readers), what = (unsigned)rng_below(&x->rng, 1000);
	struct reader *r = &x->r[k];
	struct msg m;

	if (what < deaths) {
		join(x, k);
	} else if (what < 5) {
		dataset_reader_forget(r->ask);
		r->wanted = r->next;
	} else if (what < 200) {
		r->wanted = r->wanted > r->next ? r->wanted : r->next;
		if (r->wanted < READS && r->wanted < r->next + 40)
			dataset_reader_want(r->ask, r->order[r->wanted++]);
	} else if (what < 400) {
		if (r->open && dataset_reader_next(r->ask, &m))
			pair_send(x->net, k + 1, 0, &m);
	} else if (what < 600) {
		send_or_read(x, k);
	} else if (what < 800) {
		deliver(x);
	} else {
		read_on(x, r, what % THREADS);
	}
}

static void
open_world(struct world *x, uint64_t seed)
{
	*x = (struct world){ .made = made_recs(COUNT), .net = pair_new(READERS + 1, seed),
	    .rng = rng_start(seed, 0, 0) };
	x->readers = 1 + (unsigned)rng_below(&x->rng, READERS);
	for (unsigned k = 0; k < x->readers; k++) {
		x->r[k].ask = dataset_reader_new(MEMORY);
		for (unsigned i = 0; i < READS; i++)	/* some more than once */
			x->r[k].order[i] = (uint32_t)rng_below(&x->rng, COUNT);
		join(x, k);
	}
}

static bool
ready(const struct world *x)
{
	bool all = true;

	for (unsigned k = 0; k < x->readers; k++)
		all &= x->r[k].done == READS;
	return all;
}

static const char *
run(uint64_t seed, uint32_t deaths, unsigned *turns)
{
	struct world x;

	open_world(&x, seed);
	for (*turns = 0; x.wrong == NULL && !ready(&x) && *turns < TURNS; ++*turns)
		turn(&x, deaths);
	if (!ready(&x))
		fail(&x, "hangs");
	for (unsigned k = 0; k < x.readers; k++) {
		dataset_reader_free(x.r[k].ask);
		dataset_sender_free(x.r[k].give);
		buf_free(&x.r[k].names);
	}
	pair_free(x.net);
	return x.wrong;
}

static void
many(uint32_t deaths, const char *name)
{
	unsigned good = 0, most = 0, turns, worlds = 40;

	for (uint64_t seed = 1; seed <= worlds; seed++) {
		const char *wrong = run(seed, deaths, &turns);

		if (wrong != NULL)
			printf("# seed %llu: %s\n", (unsigned long long)seed, wrong);
		good += wrong == NULL;
		most = turns > most ? turns : most;
	}
	is(good, worlds, "%s: every record has the server's bytes (%u turns)", name, most);
}

int
main(void)
{
	many(0, "nobody dies");
	many(1, "connections break now and then");
	many(3, "they break all the time");
	return done();
}
