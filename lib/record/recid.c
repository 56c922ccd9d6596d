/* recid - a hash that identifies a set of records. */
#include "record/recid.h"
#include "base/err.h"
#include "base/hash.h"

static int
add_record(const struct recs *r, uint64_t i, struct buf *room, uint64_t *h)
{
	const uint8_t *data;
	uint8_t length[8];
	size_t n = 0;
	int e = r->read(r, i, room, &data, &n);

	if (e == ERR_PEER || e == ERR_NOMEM)
		return e;
	le_put64(length, e < 0 ? UINT64_MAX : n);
	*h = hash_update(*h, length, sizeof(length));
	if (e == 0)
		*h = hash_update(*h, data, n);
	return 0;
}

int
recid_of(const struct recs *r, uint64_t *id)
{
	uint64_t looks = r->count < RECID_LOOKS ? r->count : RECID_LOOKS, h;
	struct buf room = { 0 };
	uint8_t count[8];
	int e = 0;

	if (r->id != 0) {
		*id = r->id;
		return 0;
	}
	le_put64(count, r->count);
	h = hash_update(HASH_START, count, sizeof(count));
	for (uint64_t k = 0; e == 0 && k < looks; k++)
		e = add_record(r, looks > 1 ? (r->count - 1) * k / (looks - 1) : 0, &room, &h);
	buf_free(&room);
	*id = h;
	return e;
}
