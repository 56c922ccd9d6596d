/* worker_state_set - changes of settings, heard from server 0 and passed on to all servers: serves worker_state. */
#include "ps/worker/worker_state_in.h"
#include "base/err.h"

static void
send_settings(struct worker_state *ws, uint32_t server)
{
	if (ws->passed > 0)
		worker_state_emit(ws, server, (struct msg){ .type = MSG_SET, .payload = ws->passed_bytes,
		    .len = (uint32_t)(ws->passed * SETTING_BYTES) });
}

void
worker_state_pass_settings(struct worker_state *ws)
{
	if (ws->passed == ws->settings.n)
		return;
	for (; ws->passed < ws->settings.n; ws->passed++)
		settings_put_change(&ws->settings.at[ws->passed], ws->passed_bytes + ws->passed * SETTING_BYTES);
	for (uint32_t s = 0; s < ws->o.nservers; s++)
		send_settings(ws, s);
}

static void
send_request(struct worker_state *ws)
{
	worker_state_emit(ws, 0, (struct msg){ .type = MSG_SET, .flags = MSG_EMPTY, .payload = ws->asked,
	    .len = sizeof(ws->asked) });
}

void
worker_state_repeat_settings(struct worker_state *ws, uint32_t server)
{
	send_settings(ws, server);
	if (ws->asks != 0 && server == 0)
		send_request(ws);
}

void
worker_state_set(struct worker_state *ws, const struct setting *s)
{
	ws->asks = s->id;
	settings_put_change(s, ws->asked);
	send_request(ws);
}

void
worker_state_decide(struct worker_state *ws, const struct setting *s, uint64_t from)
{
	struct setting c = *s;

	c.from = from;
	c.number = (uint32_t)ws->settings.n + 1;
	settings_add(&ws->settings, &c);
}

void
worker_state_know_settings(struct worker_state *ws, const struct settings *all)
{
	for (uint64_t i = 0; i < all->n; i++)
		settings_add(&ws->settings, &all->at[i]);
}

const struct settings *
worker_state_settings(const struct worker_state *ws)
{
	return &ws->settings;
}

/* Only server 0 decides.  What it told a predecessor it tells again. */
int
worker_state_handle_set(struct worker_state *ws, uint32_t server, const struct msg *m)
{
	if (server != 0)
		return err_fail(ERR_FORMAT, "settings of another server than 0");
	if (!ws->link[server].welcome)
		return 0;
	ERR_TRY(settings_take(&ws->settings, m->payload, m->len));
	if (ws->asks != 0 && settings_find(&ws->settings, ws->asks) != NULL)
		ws->asks = 0;
	return 0;
}
