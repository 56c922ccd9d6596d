/* server_settings - changes of settings, which server 0 decides and all servers follow: serves server_state. */
#include "ps/server/server_state_in.h"
#include "base/err.h"

#include <stdlib.h>

/* Publishes changes before any worker hears of them, and lets workers go on that the new slack allows to. */
static int
publish_settings(struct server_state *s, const struct settings *all)
{
	struct settings_kept *k = s->shard.settings;
	const unsigned to = memory_other(&k->word);

	k->record[to] = *all;
	memory_report_change(s->shard.memory, &k->record[to], sizeof(k->record[to]));
	memory_publish(s->shard.memory, &k->word, to);
	ERR_TRY(shard_follow_settings(&s->shard));
	for (uint32_t i = 0; i < s->shard.plan->n; i++)
		if (shard_mine(&s->shard, i))
			server_answer(s, i, UINT64_MAX, SERVER_ALL);
	return 0;
}

/* Whether the job can have a change. */
static bool
is_possible(const struct server_state *s, const struct setting *c)
{
	return !(c->has & SETTING_SLACK && s->hello.slack == STALE_SYNC) &&
	    !(c->has & SETTING_CODEC && !shard_plan_recodes(s->hello.mults));
}

void
server_settings_tell(struct server_state *s, uint32_t w)
{
	const struct settings *all = settings_kept(s->shard.settings);
	uint8_t bytes[SETTINGS_MOST * SETTING_BYTES];

	if (s->o.index != 0 || all->n == 0)
		return;
	for (uint64_t i = 0; i < all->n; i++)
		settings_put_change(&all->at[i], bytes + i * SETTING_BYTES);
	server_state_emit(s, w, (struct msg){ .type = MSG_SET, .payload = bytes,
	    .len = (uint32_t)(all->n * SETTING_BYTES) });
}

static void
tell_all(struct server_state *s)
{
	for (uint32_t w = 0; w < s->o.nworkers; w++)
		if (s->peer[w].known && s->peer[w].at == SHARD_HERE)
			server_settings_tell(s, w);
}

/* The step from which on a change holds that worker 0 asks for now (ps/settings.h). */
static uint64_t
choose_step(struct server_state *s)
{
	struct slice *lead = &s->shard.slice[s->shard.plan->lead];
	uint64_t least;

	if (s->hello.slack == STALE_SYNC)
		return lead->step + 1;
	least = s->o.elastic > 0 ? UINT64_MAX : stale_least(&lead->stale);
	return least < UINT64_MAX ? least : lead->stale.clock[0];
}

static int
decide_setting(struct server_state *s, const struct msg *m)
{
	struct settings *all;
	struct setting c;
	int e = 0;

	ERR_TRY(settings_get_change(m->payload, &c));
	if (c.id == 0 || m->worker != 0 || s->o.index != 0 || !is_possible(s, &c))
		return err_fail(ERR_FORMAT, "an unexpected request for settings");
	if (settings_find(settings_kept(s->shard.settings), c.id) != NULL) {
		server_settings_tell(s, m->worker);
		return 0;
	}
	if ((all = malloc(sizeof(*all))) == NULL)
		return err_nomem();
	*all = *settings_kept(s->shard.settings);
	c.number = all->n > 0 ? all->at[all->n - 1].number + 1 : 1;
	c.from = choose_step(s);
	if (settings_add(all, &c) && (e = publish_settings(s, all)) == 0)
		tell_all(s);
	free(all);
	return e;
}

/* What a worker has heard from server 0, all workers know from the start, or the one that starts the job has read. */
static int
take_settings(struct server_state *s, const struct msg *m)
{
	struct settings *all = malloc(sizeof(*all));
	int added;

	if (all == NULL)
		return err_nomem();
	*all = *settings_kept(s->shard.settings);
	added = settings_take(all, m->payload, m->len);
	for (uint64_t i = 0; i < all->n && added > 0; i++)
		if (!is_possible(s, &all->at[i]))
			added = err_fail(ERR_FORMAT, "settings that the job cannot have");
	if (added > 0 && (added = publish_settings(s, all)) == 0)
		tell_all(s);
	free(all);
	return added < 0 ? added : 0;
}

int
server_settings_handle(struct server_state *s, const struct msg *m)
{
	if (m->len == SETTING_BYTES && m->flags & MSG_EMPTY)
		return decide_setting(s, m);
	return take_settings(s, m);
}
