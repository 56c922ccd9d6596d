/* peer_traffic_row - traffic between two processes as rows of a log. */
#include "ps/peer_traffic_row.h"

#include <stdio.h>

static int
put_traffic_row(struct buf *out, struct tsv_row r, const char *class, uint64_t in, uint64_t out_bytes)
{
	snprintf(r.class, sizeof(r.class), "%s", class);
	r.rx_bytes = in;
	r.tx_bytes = out_bytes;
	return tsv_put(out, &r);
}

int
peer_traffic_row_put(struct buf *out, const struct tsv_row *r, const struct peer_traffic *t)
{
	int e = 0;

	for (int c = 0; c < PEER_TRAFFIC_CLASS_COUNT && e == 0; c++)
		if (t->payload[PEER_TRAFFIC_IN][c] + t->payload[PEER_TRAFFIC_OUT][c] > 0)
			e = put_traffic_row(out, *r, peer_traffic_name((enum peer_traffic_class)c),
			        t->payload[PEER_TRAFFIC_IN][c], t->payload[PEER_TRAFFIC_OUT][c]);
	return e < 0 ? e : put_traffic_row(out, *r, "wire", t->wire[PEER_TRAFFIC_IN], t->wire[PEER_TRAFFIC_OUT]);
}

int
peer_traffic_row_put_all(struct buf *out, const struct tsv_row *r, uint64_t in, uint64_t out_bytes)
{
	struct tsv_row all = *r;

	snprintf(all.peer, sizeof(all.peer), "all");
	return put_traffic_row(out, all, "all", in, out_bytes);
}
