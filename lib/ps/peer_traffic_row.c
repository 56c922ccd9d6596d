/* peer_traffic_row - traffic between two processes as rows of a log. */
#include "ps/peer_traffic_row.h"

#include "base/err.h"

#include <stdio.h>

static int
put_traffic_row(struct buf *out, struct tsv_row r, const char *class, uint64_t received, uint64_t sent)
{
	snprintf(r.class, sizeof(r.class), "%s", class);
	r.rx_bytes = received;
	r.tx_bytes = sent;
	return tsv_put(out, &r);
}

/* A row for each codec, unless f32 is the only one. */
static int
put_codec_rows(struct buf *out, const struct tsv_row *r, const struct peer_traffic *t)
{
	uint64_t coded = 0;

	for (int c = CODEC_F32 + 1; c < CODECS; c++)
		coded += t->coded[PEER_TRAFFIC_RECEIVED][c] + t->coded[PEER_TRAFFIC_SENT][c];
	for (int c = 0; c < CODECS && coded > 0; c++)
		if (t->coded[PEER_TRAFFIC_RECEIVED][c] + t->coded[PEER_TRAFFIC_SENT][c] > 0)
			ERR_TRY(put_traffic_row(out, *r, codec_name((enum codec_kind)c),
			    t->coded[PEER_TRAFFIC_RECEIVED][c], t->coded[PEER_TRAFFIC_SENT][c]));
	return 0;
}

int
peer_traffic_row_put(struct buf *out, const struct tsv_row *r, const struct peer_traffic *t)
{
	for (int c = 0; c < PEER_TRAFFIC_CLASS_COUNT; c++)
		if (t->payload[PEER_TRAFFIC_RECEIVED][c] + t->payload[PEER_TRAFFIC_SENT][c] > 0)
			ERR_TRY(put_traffic_row(out, *r, peer_traffic_name((enum peer_traffic_class)c),
			    t->payload[PEER_TRAFFIC_RECEIVED][c], t->payload[PEER_TRAFFIC_SENT][c]));
	ERR_TRY(put_codec_rows(out, r, t));
	return put_traffic_row(out, *r, "wire", t->wire[PEER_TRAFFIC_RECEIVED], t->wire[PEER_TRAFFIC_SENT]);
}

int
peer_traffic_row_put_all(struct buf *out, const struct tsv_row *r, uint64_t received, uint64_t sent)
{
	struct tsv_row all = *r;

	snprintf(all.peer, sizeof(all.peer), "all");
	return put_traffic_row(out, all, "all", received, sent);
}
