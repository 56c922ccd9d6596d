/* dataset_reader - requests and answers of a client that reads records ahead. */
#include "dataset/dataset_reader.h"
#include "base/err.h"

#include <stdlib.h>
#include <sys/queue.h>

#define GUESS	65536u		/* assumed bytes of a record before the first one */

struct dataset_reader_item {
	TAILQ_ENTRY(dataset_reader_item) link;
	uint64_t	 number;
	bool		 claimed;	/* a thread waits for it */
	bool		 stale;		/* nobody will read it */
	bool		 here;		/* it is complete */
	bool		 failed;	/* the server cannot read it; bytes hold the reason */
	uint32_t	 got;		/* bytes received */
	struct buf	 bytes;
};

TAILQ_HEAD(list, dataset_reader_item);

struct dataset_reader {
	size_t		 memory, held;	/* most bytes of complete records, and those there are */
	struct list	 wanted, asked, here;	/* each in the order of reading */
	uint32_t	 nasked;
	uint64_t	 received, total;	/* records received so far, and their bytes */
	uint8_t		 numbers[8 * DATASET_MSG_ASKED];
};

struct dataset_reader *
dataset_reader_new(size_t memory)
{
	struct dataset_reader *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return NULL;
	a->memory = memory;
	TAILQ_INIT(&a->wanted);
	TAILQ_INIT(&a->asked);
	TAILQ_INIT(&a->here);
	return a;
}

static void
free_item(struct dataset_reader_item *it)
{
	buf_free(&it->bytes);
	free(it);
}

static void
free_list(struct list *l)
{
	struct dataset_reader_item *it;

	while ((it = TAILQ_FIRST(l)) != NULL) {
		TAILQ_REMOVE(l, it, link);
		free_item(it);
	}
}

void
dataset_reader_free(struct dataset_reader *a)
{
	if (a == NULL)
		return;
	free_list(&a->wanted);
	free_list(&a->asked);
	free_list(&a->here);
	free(a);
}

static struct dataset_reader_item *
new_item(uint64_t i)
{
	struct dataset_reader_item *it = calloc(1, sizeof(*it));

	if (it != NULL)
		it->number = i;
	return it;
}

void
dataset_reader_want(struct dataset_reader *a, uint64_t i)
{
	struct dataset_reader_item *it = new_item(i);

	if (it != NULL)
		TAILQ_INSERT_TAIL(&a->wanted, it, link);
}

/* Drops complete records that are not claimed. */
static void
drop_unclaimed(struct dataset_reader *a)
{
	struct dataset_reader_item *it, *next;

	for (it = TAILQ_FIRST(&a->here); it != NULL; it = next) {
		next = TAILQ_NEXT(it, link);
		if (it->claimed)
			continue;
		TAILQ_REMOVE(&a->here, it, link);
		a->held -= it->bytes.n;
		free_item(it);
	}
}

/* Records already requested still arrive, and are dropped then. */
void
dataset_reader_forget(struct dataset_reader *a)
{
	struct dataset_reader_item *it, *next;

	for (it = TAILQ_FIRST(&a->wanted); it != NULL; it = next) {
		next = TAILQ_NEXT(it, link);
		if (!it->claimed) {
			TAILQ_REMOVE(&a->wanted, it, link);
			free_item(it);
		}
	}
	drop_unclaimed(a);
	TAILQ_FOREACH(it, &a->asked, link)
		it->stale |= !it->claimed;
}

static struct dataset_reader_item *
find_item(struct list *l, uint64_t i)
{
	struct dataset_reader_item *it;

	TAILQ_FOREACH(it, l, link)
		if (it->number == i && !it->claimed && !it->stale)
			return it;
	return NULL;
}

/* Inserts after the claimed records and before the others. */
static void
insert_between(struct dataset_reader *a, struct dataset_reader_item *it)
{
	struct dataset_reader_item *at;

	TAILQ_FOREACH(at, &a->wanted, link)
		if (!at->claimed)
			break;
	if (at != NULL)
		TAILQ_INSERT_BEFORE(at, it, link);
	else
		TAILQ_INSERT_TAIL(&a->wanted, it, link);
}

/*
 * Records are read roughly in the order in which they are wanted.  If a reader claims one that was not requested yet,
 * and many that were wanted before it are unread, these will hardly be read and give up their memory.
 */
static void
evict_unread(struct dataset_reader *a)
{
	if (a->held > a->memory / 2)
		drop_unclaimed(a);
}

struct dataset_reader_item *
dataset_reader_claim(struct dataset_reader *a, uint64_t i)
{
	struct dataset_reader_item *it;

	if ((it = find_item(&a->here, i)) != NULL || (it = find_item(&a->asked, i)) != NULL) {
		it->claimed = true;
		return it;
	}
	if ((it = find_item(&a->wanted, i)) != NULL) {
		TAILQ_REMOVE(&a->wanted, it, link);
		evict_unread(a);
	} else if ((it = new_item(i)) == NULL) {
		return NULL;
	}
	it->claimed = true;
	insert_between(a, it);
	return it;
}

int
dataset_reader_take(struct dataset_reader *a, struct dataset_reader_item *it, struct buf *room)
{
	int e = 1;

	if (!it->here)
		return 0;
	TAILQ_REMOVE(&a->here, it, link);
	a->held -= it->bytes.n;
	if (it->failed) {
		e = err_fail(ERR_FORMAT, "%s", (const char *)it->bytes.p);
	} else {
		struct buf old = *room;

		*room = it->bytes;
		it->bytes = old;
	}
	free_item(it);
	return e;
}

/* Whether a record that is not claimed may be requested. */
static bool
has_room_for_next(const struct dataset_reader *a)
{
	uint64_t each = a->received > 0 ? a->total / a->received + 1 : GUESS;

	return a->held + (a->nasked + 1) * each <= a->memory;
}

bool
dataset_reader_ready(const struct dataset_reader *a)
{
	const struct dataset_reader_item *it = TAILQ_FIRST(&a->wanted);

	return it != NULL && a->nasked < DATASET_MSG_ASKED && (it->claimed || has_room_for_next(a));
}

int
dataset_reader_next(struct dataset_reader *a, struct msg *m)
{
	struct dataset_reader_item *it;
	uint32_t n = 0;

	while (dataset_reader_ready(a)) {
		it = TAILQ_FIRST(&a->wanted);
		TAILQ_REMOVE(&a->wanted, it, link);
		TAILQ_INSERT_TAIL(&a->asked, it, link);
		a->nasked++;
		le_put64(a->numbers + 8 * n++, it->number);
	}
	*m = (struct msg){ .type = MSG_ASK, .len = 8 * n, .payload = a->numbers };
	return n > 0;
}

/*
 * Records are longer than those before: requested ones that are not claimed become wanted again, and what arrives of
 * them is dropped.  One that alone takes too much is not wanted again: only a claim requests it.
 */
static void
give_back_requested(struct dataset_reader *a)
{
	struct dataset_reader_item *it, *again;

	TAILQ_FOREACH_REVERSE(it, &a->asked, list, link) {
		if (it->claimed || it->stale)
			continue;
		it->stale = true;
		if (it->got <= a->memory && (again = new_item(it->number)) != NULL)
			insert_between(a, again);
		buf_free(&it->bytes);
	}
}

/* The record, or the reason why it cannot be read, is complete. */
static void
complete_item(struct dataset_reader *a, struct dataset_reader_item *it)
{
	TAILQ_REMOVE(&a->asked, it, link);
	a->nasked--;
	if (it->stale) {
		free_item(it);
		return;
	}
	it->here = true;
	a->held += it->bytes.n;
	TAILQ_INSERT_TAIL(&a->here, it, link);
}

static int
handle_failed_record(struct dataset_reader *a, struct dataset_reader_item *it, const struct msg *m)
{
	char why[ERR_LINE];

	msg_reason(m, why);
	it->bytes.n = 0;
	ERR_TRY(buf_put(&it->bytes, why, strlen(why)));
	ERR_TRY(buf_terminate(&it->bytes));
	it->failed = true;
	complete_item(a, it);
	return 0;
}

int
dataset_reader_receive(struct dataset_reader *a, const struct msg *m, bool *claimed)
{
	struct dataset_reader_item *it = TAILQ_FIRST(&a->asked);

	*claimed = false;
	if (it == NULL || m->step != it->number)
		return err_fail(ERR_FORMAT, "record %llu is not the next one requested", (unsigned long long)m->step);
	*claimed = it->claimed;
	if ((m->flags & MSG_EMPTY) != 0)
		return handle_failed_record(a, it, m);
	ERR_TRY(dataset_msg_part(m));
	if (m->slice != it->got)
		return err_fail(ERR_FORMAT, "record %llu: a part at %u after %u bytes", (unsigned long long)m->step,
		    m->slice, it->got);
	if (!it->claimed && a->held + it->bytes.n + m->len > 2 * a->memory)
		give_back_requested(a);
	if (!it->stale)
		ERR_TRY(buf_put(&it->bytes, m->payload, m->len));
	it->got += m->len;
	if (it->got < m->samples) {
		*claimed = false;
		return 0;
	}
	a->received++;
	a->total += it->got;
	complete_item(a, it);
	return 0;
}

/* Makes requested records wanted again: claimed ones before all others, or the rest after the claimed ones. */
static void
requeue_items(struct dataset_reader *a, bool claimed)
{
	struct dataset_reader_item *it, *before;

	for (it = TAILQ_LAST(&a->asked, list); it != NULL; it = before) {
		before = TAILQ_PREV(it, list, link);
		if (it->claimed != claimed)
			continue;
		TAILQ_REMOVE(&a->asked, it, link);
		a->nasked--;
		if (it->stale) {
			free_item(it);
			continue;
		}
		it->got = 0;
		it->bytes.n = 0;
		/* The others may have no room before a claimed record is read, even one that was not requested. */
		if (claimed)
			TAILQ_INSERT_HEAD(&a->wanted, it, link);
		else
			insert_between(a, it);
	}
}

void
dataset_reader_lost(struct dataset_reader *a)
{
	requeue_items(a, false);
	requeue_items(a, true);
}

bool
dataset_reader_waits(const struct dataset_reader *a)
{
	const struct dataset_reader_item *it = TAILQ_FIRST(&a->wanted);

	return a->nasked > 0 || (it != NULL && it->claimed);	/* claimed records come first */
}
