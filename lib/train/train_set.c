/* train_set - settings that change while a job runs (ps/settings.h): serves train. */
#include "train/train_in.h"
#include "base/err.h"

#include <inttypes.h>

static int
check_optimizer(const struct train *t, const struct setting *s)
{
	const struct opt_hyper *h = &t->o->ps.hyper;
	const char *name = s->has & SETTING_MOMENTUM ? "momentum" : "wd";

	if ((s->has & (SETTING_MOMENTUM | SETTING_WD)) == 0)
		return 0;
	if (t->o->local)
		return err_fail(ERR_ARG, "%s: does not change with --local-steps", name);
	if (t->wk != NULL && worker_device_opt(t->wk))
		return err_fail(ERR_ARG, "%s: does not change where the optimizer runs on the device", name);
	if (s->has & SETTING_WD && opt_needs(h) & OPT_NORMS)
		return err_fail(ERR_ARG, "wd: does not change with --optimizer %s", opt_name(h->rule));
	if (s->has & SETTING_MOMENTUM && h->rule == OPT_DESCENT)
		return err_fail(ERR_ARG, "momentum: --optimizer %s has none", opt_name(h->rule));
	if (s->has & SETTING_MOMENTUM && s->momentum >= 1 && (h->rule == OPT_ADAM || h->rule == OPT_ADAMW))
		return err_fail(ERR_ARG, "momentum: must be below 1 with --optimizer %s", opt_name(h->rule));
	return 0;
}

/* Whether the job can have a change.  Returns 0, or ERR_ARG with the reason. */
static int
check_setting(const struct train *t, const struct setting *s)
{
	if (s->has & SETTING_LR && t->o->sched.curve == SCHED_SWEEP)
		return err_fail(ERR_ARG, "lr: --lr-find sets it");
	if (s->has & SETTING_SLACK && t->sync)
		return err_fail(ERR_ARG, "slack: the workers of this job wait for each other in each step (no --async "
		    "or --slack)");
	if (s->has & SETTING_SLACK && t->elastic)
		return err_fail(ERR_ARG, "slack: the job must stay asynchronous, as its number of workers changes");
	if (s->has & SETTING_CODEC && t->o->ps.nservers == 0)
		return err_fail(ERR_ARG, "codec: needs servers");
	if (s->has & SETTING_CODEC && t->o->ps.backup > 0)
		return err_fail(ERR_ARG, "codec: does not go with --backup");
	if (s->has & SETTING_CODEC && !shard_plan_recodes(t->o->ps.mults))
		return err_fail(ERR_ARG, "codec: changes in jobs that were started with --codec f32, bf16 or fp16");
	if (t->settings.n >= SETTINGS_MOST)
		return err_fail(ERR_ARG, "%u changes were made, and there can be no more", SETTINGS_MOST);
	return check_optimizer(t, s);
}

/* A worker that was started again does not report what its predecessor has. */
static void
tell_settings(struct train *t)
{
	char text[SETTINGS_TEXT];

	for (; t->settings_told < t->settings.n; t->settings_told++) {
		const struct setting *s = &t->settings.at[t->settings_told];

		if (t->returned && s->from <= t->joined)
			continue;
		settings_change_text(s, ',', text);
		train_tell(t, &(struct train_event){ .kind = TRAIN_SET, .samples = s->from, .text = text });
	}
}

/*
 * The change that a request has become.  One that sets what the last change does is that change, unless that holds
 * later only: it may have been decided before all processes were lost, and nothing would change again.
 */
static const struct setting *
find_decided(const struct train *t, uint64_t id, const struct setting *s)
{
	const struct setting *decided = settings_find(&t->settings, id);
	const struct setting *last = t->settings.n > 0 ? &t->settings.at[t->settings.n - 1] : NULL;

	return decided == NULL && last != NULL && last->from <= t->step + 1 && settings_same(last, s) ? last : decided;
}

/* Asks server 0 for what a user wants, and answers when that is decided, or at once if the job cannot have it. */
static int
handle_request(struct train *t)
{
	const struct setting *decided;
	char text[SETTINGS_TEXT];
	struct setting s;
	uint64_t id;

	if (t->o->mailbox == NULL || !mailbox_next(t->o->mailbox, &id, text))
		return 0;
	if (settings_parse_change(text, &s) < 0) {
		mailbox_settle(t->o->mailbox, id, 0, err_line());
		return 0;
	}
	if ((decided = find_decided(t, id, &s)) != NULL) {
		mailbox_settle(t->o->mailbox, id, decided->from, NULL);
		return 0;
	}
	if (id == t->request)
		return 0;
	if (check_setting(t, &s) < 0) {
		mailbox_settle(t->o->mailbox, id, 0, err_line());
		return 0;
	}
	t->request = s.id = id;
	return worker_set(t->wk, &s);
}

int
train_learn_settings(struct train *t)
{
	return worker_settings(t->wk, &t->settings);
}

static int
check_settings(const struct train *t, const struct settings *all)
{
	for (uint64_t i = 0; i < all->n; i++)
		ERR_TRY(check_setting(t, &all->at[i]));
	return 0;
}

int
train_check_settings(const struct train *t)
{
	const struct settings *first = t->o->ps.settings;

	return err_wrap(first != NULL ? check_settings(t, first) : 0, "TALLY_SET");
}

int
train_resume_settings(struct train *t, const char *text, struct worker_first *first)
{
	if (settings_parse(text, &t->resumed) < 0)
		return err_wrap(ERR_FORMAT, "settings");
	first->settings = &t->resumed;
	return check_settings(t, &t->resumed);
}

int
train_open_settings(struct train *t)
{
	t->joined = t->step;
	ERR_TRY(train_check_settings(t));
	ERR_TRY(train_learn_settings(t));
	tell_settings(t);
	return 0;
}

int
train_change_settings(struct train *t)
{
	ERR_TRY(train_learn_settings(t));
	tell_settings(t);
	return handle_request(t);
}
