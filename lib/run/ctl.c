/* ctl - what the launcher and an agent say to each other over the remote shell's pipe. */
#include "run/ctl.h"

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
