/* job_set - settings of a job of whole processes that change, as `dlaunch set` does: serves job. */
#include "law/job_in.h"

#include <stdio.h>
#include <string.h>

#define EVERY		200u	/* turns between two requests, on average */
#define CHANGES		4u	/* most of a job */

/* Changes that all workers know from the start, as those of TALLY_SET. */
static void
draw_first(struct job *j, struct rng *c)
{
	while (j->x.changes.left > 0 && rng_below(c, 2) && changes_want(&j->x.changes, c)) {
		struct setting s = j->x.changes.wanted;

		j->x.changes.wanted.id = s.id = 0;
		s.from = rng_below(c, j->steps);
		s.number = (uint32_t)j->stored.n + 1;
		settings_add(&j->stored, &s);
	}
	j->given = j->x.changes.heard = j->stored;
}

void
job_set_draw(struct job *j)
{
	struct rng c = rng_start(j->x.seed, 3, 5);

	j->box.page = &j->page;
	if (rng_below(&c, 4) > 0)
		return;
	changes_open(&j->x.changes, &j->x.hyper, j->x.rules, j->x.slack, j->x.counting);
	if (j->x.local > 0)
		j->x.changes.kinds &= SETTING_LR | SETTING_CODEC;
	j->x.changes.left = 1 + (unsigned)rng_below(&c, CHANGES);
	if (rng_below(&c, 2))
		draw_first(j, &c);
}

/* The agent leaves the request in the mailbox. */
static void
ask(struct job *j)
{
	char text[SETTINGS_TEXT];

	settings_change_text(&j->x.changes.wanted, ' ', text);
	mailbox_ask(&j->box, j->x.changes.wanted.id, text);
	sim_log("dlaunch set %s", text);
}

/* The launcher stores a change, for the attempts after this one, unless it is the last one. */
static void
store_change(struct job *j, uint64_t from)
{
	struct changes *c = &j->x.changes;
	struct setting s = c->wanted;

	s.from = from;
	s.id = 0;
	s.number = (uint32_t)j->stored.n + 1;
	if (j->stored.n == 0 || j->stored.at[j->stored.n - 1].from != from || !settings_same(&j->stored.at[j->stored.n - 1], &s))
		settings_add(&j->stored, &s);
	if (c->heard.n < j->stored.n || c->heard.at[j->stored.n - 1].from != from)
		world_fault(&j->x, "the launcher hears of another change than the workers");
	c->wanted.id = 0;
	j->settled_at = 0;
	j->figures->changes++;
}

/* The agent looks into the mailbox now and then, and its answer takes a while. */
void
job_set_turn(struct job *j)
{
	struct changes *c = &j->x.changes;
	char why[ERR_LINE];
	uint64_t from;

	if (c->kinds == 0)
		return;
	if (rng_below(sim_chance(), EVERY) == 0 && changes_want(c, sim_chance())) {
		ask(j);
		if (rng_below(sim_chance(), 2))
			job_fault_soon(j);
	}
	if (c->wanted.id == 0 || !mailbox_answer(&j->box, c->wanted.id, &from, why))
		return;
	if (why[0] != 0)
		world_fault(&j->x, why);
	else if (j->settled_at == 0)
		j->settled_at = sim_now() + rng_below(sim_chance(), SIM_MS << rng_below(sim_chance(), 10));
	else if (sim_now() >= j->settled_at)
		store_change(j, from);
}

/*
 * The next attempt has what the launcher has stored.  A change in whose steps the newest checkpoint or cut was made is
 * in it, whether or not the launcher has heard of it.
 */
void
job_set_lose(struct job *j)
{
	struct changes *c = &j->x.changes;
	struct settings all = j->stored;

	for (uint64_t i = all.n; i < c->heard.n && c->heard.at[i].from < j->newest; i++) {
		c->heard.at[i].id = 0;
		settings_add(&all, &c->heard.at[i]);
	}
	c->heard = all;
	j->given = j->stored;
	c->begun = j->newest;
	j->page = (struct mailbox_page){ .asked = 0 };
	j->settled_at = 0;
	if (c->wanted.id != 0)
		ask(j);
}

/* Before a step: as train() does. */
int
job_set_step(struct job_life *l)
{
	const char *wrong;

	l->t.step = l->step;
	ERR_TRY(train_change_settings(&l->t));
	wrong = changes_hear(&l->x->changes, &l->t.settings);
	return wrong != NULL ? err_fail(ERR_FORMAT, "%s", wrong) : 0;
}

/* The rate of a step whose weights are there. */
int
job_set_rate(struct job_life *l, float *rate)
{
	const char *wrong;

	ERR_TRY(train_learn_settings(&l->t));
	if ((wrong = changes_begin(&l->x->changes, &l->t.settings, l->step)) != NULL)
		return err_fail(ERR_FORMAT, "%s", wrong);
	l->o.sched.base = (double)world_rate(l->x, l->step);
	*rate = train_lr(&l->t, l->step);
	changes_note_rate(l->x->actor[l->p->index].rates[l->step], *rate);
	return 0;
}
