/* ctl - what the launcher and an agent say to each other over the remote shell's pipe. */
#include "run/ctl.h"

#include "base/err.h"

int
ctl_put(struct buf *b, uint32_t v)
{
	uint8_t word[4];

	le_put32(word, v);
	return buf_put(b, word, sizeof(word));
}

int
ctl_put_text(struct buf *b, const char *text)
{
	size_t n = strlen(text);
	int e = ctl_put(b, (uint32_t)n);

	return e < 0 ? e : buf_put(b, text, n + 1);
}

uint32_t
ctl_get(struct ctl_in *in)
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
	uint32_t n = ctl_get(in);
	const char *text = (const char *)in->p;

	/* The zero byte must be at the end, and only there. */
	if (in->bad || in->n <= n || memchr(text, 0, in->n) != text + n) {
		in->bad = true;
		return "";
	}
	in->p += n + 1;
	in->n -= n + 1;
	return text;
}

int
ctl_put_all(struct buf *b, const uint32_t *v, size_t n)
{
	int e = 0;

	for (size_t i = 0; i < n && e == 0; i++)
		e = ctl_put(b, v[i]);
	return e;
}

int
ctl_put_long(struct buf *b, uint64_t v)
{
	return ctl_put_all(b, (uint32_t[]){ (uint32_t)v, (uint32_t)(v >> 32) }, 2);
}

int
ctl_put_resume(struct buf *b, const struct ctl_resume *r)
{
	int e = ctl_put_long(b, r->got);

	return e < 0 ? e : ctl_put_long(b, r->done);
}

int
ctl_put_back(struct buf *b, const struct ctl_back *k)
{
	return ctl_put_all(b, (uint32_t[]){ k->job, k->go, k->signals, k->waited_ms }, 4);
}

uint64_t
ctl_get_long(struct ctl_in *in)
{
	uint64_t low = ctl_get(in);

	return low | (uint64_t)ctl_get(in) << 32;
}

int
ctl_get_resume(struct ctl_resume *r, const void *p, size_t n)
{
	struct ctl_in in = { .p = p, .n = n };

	r->got = ctl_get_long(&in);
	r->done = ctl_get_long(&in);
	return in.bad || in.n != 0 || r->done > r->got ? err_fail(ERR_FORMAT, "a return that is none") : 0;
}

int
ctl_get_back(struct ctl_back *k, const void *p, size_t n)
{
	struct ctl_in in = { .p = p, .n = n };

	k->job = ctl_get(&in);
	k->go = ctl_get(&in);
	k->signals = ctl_get(&in);
	k->waited_ms = ctl_get(&in);
	if (in.bad || in.n != 0 || k->job > 1 || k->go > k->job)
		return err_fail(ERR_FORMAT, "an answer to a return that is none");
	return 0;
}
