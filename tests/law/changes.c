/* changes - settings that change while a job in memory runs. */
#include "law/changes.h"

#include "ps/shard_plan.h"
#include "ps/stale.h"

#include <string.h>

void
changes_open(struct changes *c, const struct opt_hyper *h, const char *rules, uint32_t slack, bool counting)
{
	c->counting = counting;
	c->sync = slack == STALE_SYNC;
	c->kinds = SETTING_LR;
	if (!counting && h->rule != OPT_DESCENT)
		c->kinds |= SETTING_MOMENTUM;
	if (!counting && (opt_needs(h) & OPT_NORMS) == 0)
		c->kinds |= SETTING_WD;
	if (!c->sync)
		c->kinds |= SETTING_SLACK;
	if (shard_plan_recodes(rules))
		c->kinds |= SETTING_CODEC;
}

bool
changes_want(struct changes *c, struct rng *r)
{
	static const float rates[] = { 0.5f, 1, 2 }, momenta[] = { 0, 0.5f, 0.9f };

	if (c->wanted.id != 0 || c->left == 0 || c->kinds == 0)
		return false;
	c->left--;
	c->wanted = (struct setting){ .id = ++c->asked,
	    .lr = c->counting ? rates[rng_below(r, 3)] : 0.1f * rng_f32(r), .momentum = momenta[rng_below(r, 3)],
	    .wd = 1e-3 * (double)rng_below(r, 3), .codec = (uint32_t)rng_below(r, CODEC_FP16 + 1),
	    .slack = rng_below(r, 2) ? STALE_ASYNC : 1 + (uint32_t)rng_below(r, 3) };
	while (c->wanted.has == 0)
		c->wanted.has = c->kinds & (uint32_t)rng_below(r, SETTING_ALL + 1);
	return true;
}

const struct setting *
changes_wanted(struct changes *c, const struct settings *has, uint64_t *asked)
{
	if (c->wanted.id != 0 && settings_find(has, c->wanted.id) != NULL)
		c->wanted.id = 0;
	if (c->wanted.id == *asked)
		return NULL;
	*asked = c->wanted.id;
	return c->wanted.id != 0 ? &c->wanted : NULL;
}

const char *
changes_hear(struct changes *c, const struct settings *has)
{
	for (uint64_t i = 0; i < has->n; i++) {
		const bool first = i >= c->heard.n;

		if (first && c->sync && has->at[i].from < c->begun)
			return "settings change in a step that was begun without";
		if (first && has->at[i].id != 0 && settings_find(&c->heard, has->at[i].id) != NULL)
			return "a request changes settings twice";
		if (first)
			settings_add(&c->heard, &has->at[i]);
		if (memcmp(&has->at[i], &c->heard.at[i], sizeof(has->at[i])) != 0)
			return "two workers have different changes of settings";
	}
	return NULL;
}

const char *
changes_begin(struct changes *c, const struct settings *has, uint64_t step)
{
	const char *wrong = changes_hear(c, has);

	if (wrong != NULL)
		return wrong;
	for (uint64_t i = has->n; i < c->heard.n && c->sync; i++)
		if (c->heard.at[i].from <= step)
			return "a worker begins a step without its settings";
	c->begun = c->begun > step ? c->begun : step + 1;
	return NULL;
}

float
changes_rate(const struct settings *all, uint64_t step, float usual)
{
	struct setting s;

	settings_at(all, step, &s);
	return s.has & SETTING_LR ? (float)s.lr : usual;
}

void
changes_note_rate(float range[2], float rate)
{
	range[0] = range[0] > 0 && range[0] < rate ? range[0] : rate;
	range[1] = range[1] > rate ? range[1] : rate;
}

void
changes_add_rates(float (*range)[2], uint64_t n, double sum[2])
{
	for (uint64_t i = 0; i < 2 * n; i++)
		sum[i % 2] += (double)range[i / 2][i % 2];
}

struct opt_hyper
changes_hyper(const struct settings *all, uint64_t step, const struct opt_hyper *usual)
{
	struct opt_hyper h = *usual;
	struct setting s;

	settings_at(all, step, &s);
	h.momentum = s.has & SETTING_MOMENTUM ? (float)s.momentum : h.momentum;
	h.wd = s.has & SETTING_WD ? (float)s.wd : h.wd;
	return h;
}

struct codec
changes_codec(const struct settings *all, uint64_t step, struct codec usual)
{
	struct setting s;

	settings_at(all, step, &s);
	return s.has & SETTING_CODEC ? (struct codec){ .kind = (enum codec_kind)s.codec } : usual;
}

uint32_t
changes_slack(const struct changes *c, uint32_t usual)
{
	const bool wanted = c->wanted.id != 0 && c->wanted.has & SETTING_SLACK;
	uint32_t last = usual, most;

	settings_slack(&c->heard, &last, &most);
	return wanted && c->wanted.slack > most ? c->wanted.slack : most;
}
