/* pserver_log - a server's traffic and load as rows of a log. */
#include "pserver_log.h"
#include "base/err.h"
#include "front.h"

#include "base/clk.h"
#include "ps/peer_traffic_row.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

void
server_log_begin(struct server_log *l, const struct serve_opt *o)
{
	l->rank = o->index;
	l->nservers = o->nservers;
	l->nworkers = o->nworkers;
	l->began = clk_s();
	l->load = load_now();
	gethostname(l->host, sizeof(l->host) - 1);
}

static void
write_rows(const struct server_log *l, struct buf *text, int e)
{
	if (e < 0)
		front_die(NULL, e);
	l->write(l->arg, (const char *)text->p, text->n);
	buf_free(text);
}

static struct tsv_row
new_server_row(const struct server_log *l, enum tsv_event event)
{
	struct tsv_row r = tsv_blank(event, TSV_SERVER, l->rank, l->host);

	r.time_s = clk_s() - l->began;
	return r;
}

/* Writes the log's header before the first row. */
static int
put_log_head(struct server_log *l, struct buf *out)
{
	if (!l->any) {
		ERR_TRY(buf_put_fmt(out,
		    "# tally %s tool=pserver host=%s rank=%" PRIu32 " servers=%" PRIu32 " workers=%" PRIu32 "\n",
		    TALLY_VERSION, l->host, l->rank, l->nservers, l->nworkers));
		ERR_TRY(tsv_head(out));
	}
	l->any = true;
	return 0;
}

void
server_log_traffic(struct server_log *l, const struct serve_traffic_report *m)
{
	struct tsv_row r = new_server_row(l, TSV_TRAFFIC), busy = new_server_row(l, TSV_LOAD);
	struct buf text = { 0 };
	struct load now;
	int e = put_log_head(l, &text);

	r.step = busy.step = m->steps;
	r.epoch = busy.epoch = m->epoch == EPOCH_TRAFFIC_NONE ? TSV_NONE : m->epoch;
	if (m->worker >= 0) {
		snprintf(r.peer, sizeof(r.peer), "worker %" PRIi64, m->worker);
		e = e < 0 ? e : peer_traffic_row_put(&text, &r, &m->traffic);
	} else {
		now = load_now();
		busy.cpu = load_process(&l->load, &now);
		busy.host_load = load_host(&l->load, &now);
		l->load = now;
		e = e < 0 ? e : peer_traffic_row_put_all(&text, &r, m->received, m->sent);
		e = e < 0 || l->part ? e : tsv_put(&text, &busy);
		if (!l->part && isatty(STDOUT_FILENO) && m->epoch != EPOCH_TRAFFIC_NONE)
			front_say("epoch %" PRIu64 ": %.1f MB received, %.1f MB sent, %.1f s", m->epoch + 1,
			    (double)m->received / 1e6, (double)m->sent / 1e6, r.time_s);
	}
	write_rows(l, &text, e);
}

void
server_log_end(struct server_log *l, const struct serve_sums *sums)
{
	struct tsv_row r = new_server_row(l, TSV_END);
	struct buf text = { 0 };

	if (!l->any)
		return;
	r.step = sums->steps;
	r.sent_bytes = sums->sent;
	r.received_bytes = sums->received;
	write_rows(l, &text, tsv_put(&text, &r));
}
