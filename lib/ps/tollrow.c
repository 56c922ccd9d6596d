/* tollrow - what moved between two processes as rows of a log. */
#include "ps/tollrow.h"

#include <stdio.h>

static int
put(struct buf *out, struct tsv_row r, const char *class, uint64_t in, uint64_t out_bytes)
{
	snprintf(r.class, sizeof(r.class), "%s", class);
	r.rx_bytes = in;
	r.tx_bytes = out_bytes;
	return tsv_put(out, &r);
}

int
tollrow_put(struct buf *out, const struct tsv_row *r, const struct toll *t)
{
	int e = 0;

	for (int c = 0; c < TOLL_CLASS_COUNT && e == 0; c++)
		if (t->payload[TOLL_IN][c] + t->payload[TOLL_OUT][c] > 0)
			e = put(out, *r, toll_name((enum toll_class)c), t->payload[TOLL_IN][c], t->payload[TOLL_OUT][c]);
	return e < 0 ? e : put(out, *r, "wire", t->wire[TOLL_IN], t->wire[TOLL_OUT]);
}

int
tollrow_put_all(struct buf *out, const struct tsv_row *r, uint64_t in, uint64_t out_bytes)
{
	struct tsv_row all = *r;

	snprintf(all.peer, sizeof(all.peer), "all");
	return put(out, all, "all", in, out_bytes);
}
