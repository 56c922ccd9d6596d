/*
 * made - records made up from their numbers, as a struct recs, for the tests.
 *
 *	struct made m = made_recs(1000);	m.recs.count is 1000
 *	made_is(i, data, n)			whether these are the bytes of record i
 *
 * Most are short, some are empty, some take several parts of a message; each number with 13 as the last two digits fails.
 */
#ifndef TESTS_MADE_H
#define TESTS_MADE_H

#include "base/err.h"
#include "record/recs.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

struct made {
	struct recs	 recs;
	atomic_uint	 reads;
	atomic_uint	 wants;
	uint8_t		 salt;		/* other bytes */
};

static inline bool
made_fails(uint64_t i)
{
	return i % 100 == 13;
}

static inline size_t
made_length(uint64_t i)
{
	return i % 50 == 7 ? 300000 + i * 1000 : i % 20 == 3 ? 0 : 1 + i * 37 % 2000;
}

static inline uint8_t
made_byte(uint64_t i, size_t at, uint8_t salt)
{
	return (uint8_t)(i * 11 + at * 7 + at / 251 + salt);
}

static inline bool
made_is(uint64_t i, const uint8_t *data, size_t n, uint8_t salt)
{
	bool same = n == made_length(i);

	for (size_t at = 0; same && at < n; at++)
		same = data[at] == made_byte(i, at, salt);
	return same;
}

static inline int
made_read(const struct recs *r, uint64_t i, struct buf *room, const uint8_t **data, size_t *n)
{
	struct made *m = (struct made *)(uintptr_t)r;
	int e;

	m->reads++;
	if (made_fails(i))
		return err_fail(ERR_FORMAT, "made: record %llu\tfails", (unsigned long long)i);
	*n = made_length(i);
	room->n = 0;
	if ((e = buf_room(room, *n)) < 0)
		return e;
	for (size_t at = 0; at < *n; at++)
		room->p[at] = made_byte(i, at, m->salt);
	*data = room->p;
	return 0;
}

static inline void
made_want(const struct recs *r, uint64_t i)
{
	((struct made *)(uintptr_t)r)->wants += i < r->count;
}

static inline void
made_name(const struct recs *r, uint64_t i, char *text, size_t size)
{
	snprintf(text, size, "%s: record %llu", r->path, (unsigned long long)i);
}

static inline struct made
made_recs(uint64_t count)
{
	return (struct made){ .recs = { .count = count, .path = "made", .read = made_read, .name = made_name,
	    .want = made_want } };
}

#endif
