/* serve_traffic - counts and reports the traffic with each worker: serves serve. */
#include "ps/server/serve_in.h"

void
serve_count_msg(struct serve *s, uint32_t worker, enum peer_traffic_way way, const struct msg *m)
{
	const struct shard_plan *p = server_state_plan(s->state);

	peer_traffic_count(&s->traffic.page[worker].now, way, m, p != NULL && m->slice >= p->nweights,
	    p != NULL ? shard_plan_carried(p, m, server_state_sync(s->state)) : CODEC_F32);
}

void
serve_count_wire(struct serve *s, const struct client *g)
{
	uint64_t received, sent;

	if (g == NULL || g->page < 0)
		return;
	conn_byte_counts(g->conn, &received, &sent);
	epoch_traffic_wire(&s->traffic, (uint32_t)g->page, received, sent);
}

void
serve_report_epoch(struct serve *s, uint64_t epoch, const uint64_t sum[PEER_TRAFFIC_WAYS])
{
	if (s->o->report_traffic != NULL)
		s->o->report_traffic(s->o->arg, &(struct serve_traffic_report){ .worker = -1, .epoch = epoch,
		    .steps = server_state_steps(s->state),
		    .received = sum[PEER_TRAFFIC_RECEIVED], .sent = sum[PEER_TRAFFIC_SENT] });
}

void
serve_begin_epoch(struct serve *s, uint32_t worker, uint64_t next)
{
	struct serve_traffic_report m = { .worker = worker, .steps = server_state_steps(s->state) };
	uint64_t epoch, sum[PEER_TRAFFIC_WAYS];

	serve_count_wire(s, serve_find_client(s, worker));
	if (epoch_traffic_turn(&s->traffic, worker, next, &m.traffic, &m.epoch) && s->o->report_traffic != NULL)
		s->o->report_traffic(s->o->arg, &m);
	if (next != EPOCH_TRAFFIC_NONE && epoch_traffic_over(&s->traffic, &epoch, sum))
		serve_report_epoch(s, epoch, sum);
}
