/* frame - typed frames in a byte stream. */
#include "base/frame.h"
#include "base/err.h"

#include <assert.h>

int
frame_put(struct buf *b, uint32_t type, const void *p, size_t n)
{
	uint8_t head[FRAME_HEAD];

	assert(n <= UINT32_MAX - FRAME_HEAD);
	ERR_TRY(buf_room(b, sizeof(head) + n));
	le_put32(head, (uint32_t)n);
	le_put32(head + 4, type);
	buf_put(b, head, sizeof(head));
	return buf_put(b, p, n);
}

int
frame_feed(struct frame_reader *in, const void *p, size_t n)
{
	if (in->at > 0) {
		memmove(in->b.p, in->b.p + in->at, in->b.n - in->at);
		in->b.n -= in->at;
		if (in->b.wipes)
			explicit_bzero(in->b.p + in->b.n, in->at);
		in->at = 0;
	}
	return buf_put(&in->b, p, n);
}

bool
frame_sync(struct frame_reader *in, const void *mark, size_t n)
{
	const uint8_t *first = mark;

	while (in->at < in->b.n) {
		size_t have = in->b.n - in->at, compared = have < n ? have : n;
		const uint8_t *p = in->b.p + in->at;

		if (memcmp(p, mark, compared) == 0) {
			in->at += compared == n ? n : 0;
			return compared == n;
		}
		p = memchr(p + 1, *first, have - 1);
		have = p == NULL ? have : (size_t)(p - in->b.p) - in->at;
		in->at += have;
		in->skipped += have;
	}
	return false;
}

int
frame_next(struct frame_reader *in, struct frame *f)
{
	size_t have = in->b.n - in->at;
	const uint8_t *p;

	if (have < FRAME_HEAD)
		return 0;
	p = in->b.p + in->at;
	*f = (struct frame){ .len = le_get32(p), .type = le_get32(p + 4), .p = p + FRAME_HEAD };
	if (f->len > in->max)
		return err_fail(ERR_LIMIT, "a frame of %u bytes is longer than %u", f->len, in->max);
	if (have - FRAME_HEAD < f->len)
		return 0;
	in->at += FRAME_HEAD + f->len;
	return 1;
}

void
frame_free(struct frame_reader *in)
{
	buf_free(&in->b);
	in->at = 0;
}
