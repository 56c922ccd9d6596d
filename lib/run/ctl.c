/* ctl - the messages between the launcher and an agent, over the remote shell's pipe. */
#include "run/ctl.h"

#include "base/err.h"

int
ctl_put_u32(struct buf *b, uint32_t v)
{
	uint8_t word[4];

	le_put32(word, v);
	return buf_put(b, word, sizeof(word));
}

int
ctl_put_text(struct buf *b, const char *text)
{
	size_t n = strlen(text);

	ERR_TRY(ctl_put_u32(b, (uint32_t)n));
	return buf_put(b, text, n + 1);
}

uint32_t
ctl_get_u32(struct ctl_in *in)
{
	uint32_t v;

	if (in->bad || in->n < 4) {
		in->bad = true;
		return 0;
	}
	v = le_get32(in->p);
	in->p += 4;
	in->n -= 4;
	return v;
}

const char *
ctl_get_text(struct ctl_in *in)
{
	uint32_t n = ctl_get_u32(in);
	const char *text = (const char *)in->p;

	/* The only zero byte must be the one that ends the text. */
	if (in->bad || in->n <= n || memchr(text, 0, in->n) != text + n) {
		in->bad = true;
		return "";
	}
	in->p += n + 1;
	in->n -= n + 1;
	return text;
}

int
ctl_put_u32s(struct buf *b, const uint32_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ERR_TRY(ctl_put_u32(b, v[i]));
	return 0;
}

int
ctl_put_u64(struct buf *b, uint64_t v)
{
	return ctl_put_u32s(b, (uint32_t[]){ (uint32_t)v, (uint32_t)(v >> 32) }, 2);
}

int
ctl_put_resume(struct buf *b, const struct ctl_resume *r)
{
	ERR_TRY(ctl_put_u64(b, r->received));
	return ctl_put_u64(b, r->credited);
}

int
ctl_put_state(struct buf *b, const struct ctl_state *k)
{
	return ctl_put_u32s(b, (uint32_t[]){ k->job, k->go, k->signals, k->waited_ms }, 4);
}

uint64_t
ctl_get_u64(struct ctl_in *in)
{
	uint64_t low = ctl_get_u32(in);

	return low | (uint64_t)ctl_get_u32(in) << 32;
}

int
ctl_get_resume(const void *p, size_t n, struct ctl_resume *r)
{
	struct ctl_in in = { .p = p, .n = n };

	r->received = ctl_get_u64(&in);
	r->credited = ctl_get_u64(&in);
	if (in.bad || in.n != 0 || r->credited > r->received)
		return err_fail(ERR_FORMAT, "a malformed RESUME message");
	return 0;
}

int
ctl_get_state(const void *p, size_t n, struct ctl_state *k)
{
	struct ctl_in in = { .p = p, .n = n };

	k->job = ctl_get_u32(&in);
	k->go = ctl_get_u32(&in);
	k->signals = ctl_get_u32(&in);
	k->waited_ms = ctl_get_u32(&in);
	if (in.bad || in.n != 0 || k->job > 1 || k->go > k->job)
		return err_fail(ERR_FORMAT, "a malformed STATE message");
	return 0;
}
