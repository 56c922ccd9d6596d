/* pair - the network in memory: messages between parties, delivered in an order drawn from a seed. */
#include "law/pair.h"
#include "base/err.h"
#include "base/num.h"
#include "base/rng.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct item {
	struct item	*next;
	struct msg	 m;
	uint64_t	 payload[];	/* aligned as conn_next aligns it */
};

struct link {
	struct item	*first, *last;		/* to be delivered */
	struct item	*kept[PAIR_KEPT];	/* delivered, the oldest first */
	unsigned	 nkept;
	bool		 held;
};

struct pair {
	unsigned	 parties;
	size_t		 waiting;
	bool		 lends;
	struct rng	 rng;
	struct link	 links[];	/* [from][to] */
};

struct pair *
pair_new(unsigned parties, uint64_t seed)
{
	size_t n, size;
	struct pair *p;

	if (num_mul(parties, parties, &n) < 0 || num_mul(n, sizeof(struct link), &size) < 0 ||
	    (p = calloc(1, sizeof(*p) + size)) == NULL)
		return NULL;
	p->parties = parties;
	p->rng = rng_start(seed, 0, 0);
	return p;
}

static struct link *
link_of(struct pair *p, unsigned from, unsigned to)
{
	assert(from < p->parties && to < p->parties);
	return &p->links[(size_t)from * p->parties + to];
}

static void
drop(struct pair *p, struct link *l)
{
	for (struct item *next; l->first != NULL; l->first = next, p->waiting--) {
		next = l->first->next;
		free(l->first);
	}
	l->last = NULL;
	while (l->nkept > 0)
		free(l->kept[--l->nkept]);
}

void
pair_free(struct pair *p)
{
	if (p == NULL)
		return;
	for (unsigned party = 0; party < p->parties; party++)
		pair_cut(p, party);
	free(p);
}

void
pair_lend(struct pair *p)
{
	p->lends = true;
}

/* The message has the payload as it is now. */
static void
copy_payload(struct item *i)
{
	i->m.lasting = false;
	if (i->m.payload != i->payload)
		i->m.payload = i->m.len > 0 ? memcpy(i->payload, i->m.payload, i->m.len) : NULL;
}

int
pair_send(struct pair *p, unsigned from, unsigned to, const struct msg *m)
{
	struct link *l = link_of(p, from, to);
	struct item *i = malloc(sizeof(*i) + m->len);

	if (i == NULL)
		return err_nomem();
	i->next = NULL;
	i->m = *m;
	if (!m->lasting)
		copy_payload(i);
	if (l->last != NULL)
		l->last->next = i;
	else
		l->first = i;
	l->last = i;
	p->waiting++;
	return 0;
}

static bool
ready(const struct link *l)
{
	return l->first != NULL && !l->held;
}

/* One of the links that could deliver, each as likely; NULL when there is none. */
static struct link *
draw(struct pair *p)
{
	size_t n = (size_t)p->parties * p->parties, count = 0, i;
	uint64_t left;

	for (i = 0; i < n; i++)
		count += ready(&p->links[i]);
	if (count == 0)
		return NULL;
	left = rng_below(&p->rng, count);
	for (i = 0; !ready(&p->links[i]) || left-- > 0; i++)
		;
	return &p->links[i];
}

static void
keep(struct link *l, struct item *i)
{
	if (l->nkept == PAIR_KEPT) {
		free(l->kept[0]);
		memmove(l->kept, l->kept + 1, --l->nkept * sizeof(l->kept[0]));
	}
	l->kept[l->nkept++] = i;
}

int
pair_next(struct pair *p, unsigned *from, unsigned *to, struct msg *m)
{
	struct link *l = draw(p);
	struct item *i;
	struct msg lent;

	if (l == NULL)
		return 0;
	i = l->first;
	if ((l->first = i->next) == NULL)
		l->last = NULL;
	p->waiting--;
	lent = i->m;
	copy_payload(i);
	keep(l, i);
	*from = (unsigned)((size_t)(l - p->links) / p->parties);
	*to = (unsigned)((size_t)(l - p->links) % p->parties);
	*m = p->lends && lent.lasting ? lent : i->m;
	return 1;
}

size_t
pair_waiting(const struct pair *p)
{
	return p->waiting;
}

void
pair_cut(struct pair *p, unsigned party)
{
	for (unsigned other = 0; other < p->parties; other++) {
		drop(p, link_of(p, party, other));
		drop(p, link_of(p, other, party));
	}
}

size_t
pair_queued(struct pair *p, unsigned from, unsigned to)
{
	size_t n = 0;

	for (const struct item *i = link_of(p, from, to)->first; i != NULL; i = i->next)
		n++;
	return n;
}

void
pair_break(struct pair *p, unsigned from, unsigned to, size_t n)
{
	struct link *l = link_of(p, from, to), rest = { 0 };
	struct item **end = &l->first;

	l->last = NULL;
	for (; n > 0 && *end != NULL; n--) {
		l->last = *end;
		copy_payload(*end);
		end = &(*end)->next;
	}
	rest.first = *end;
	*end = NULL;
	drop(p, &rest);
	while (l->nkept > 0)
		free(l->kept[--l->nkept]);
}

unsigned
pair_repeat(struct pair *p, unsigned from, unsigned to, unsigned n)
{
	struct link *l = link_of(p, from, to);
	unsigned done;

	for (done = 0; done < n && l->nkept > 0; done++) {
		struct item *i = l->kept[--l->nkept];

		i->next = l->first;
		l->first = i;
		if (l->last == NULL)
			l->last = i;
		p->waiting++;
	}
	return done;
}

void
pair_hold(struct pair *p, unsigned from, unsigned to, bool held)
{
	link_of(p, from, to)->held = held;
}
