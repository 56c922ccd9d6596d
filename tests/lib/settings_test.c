/* settings_test - changes of settings as text, as bytes, and at a step. */
#include "tap.h"

#include "base/err.h"
#include "ps/settings.h"
#include "ps/stale.h"

#include <math.h>
#include <string.h>

static const char *
again(const char *text)
{
	static char out[SETTINGS_TEXT];
	struct setting s;

	if (settings_parse_change(text, &s) < 0)
		return err_line();
	settings_change_text(&s, ' ', out);
	return out;
}

static void
test_text(void)
{
	struct setting s;

	is_str(again("wd=5e-4,lr=0.010 slack=4"), "lr=0.01 wd=0.0005 slack=4", "a change is written as it is read");
	is_str(again("slack=async momentum=0.8"), "momentum=0.8 slack=async", "slack may be async");
	is(settings_parse_change("lr=0.1", &s), 0, "a rate is read");
	ok(s.lr == 0.1 && s.has == SETTING_LR, "a rate has the bits of --lr");
	is_str(again("lr=0.10000000000000001"), "lr=0.1", "a number has as few digits as it needs");
	is_str(again("rate=1"), "rate: no such setting; there are codec, lr, momentum, slack and wd", "an unknown name is refused");
	is_str(again("lr"), "'lr' is not NAME=VALUE, as in lr=0.01", "a name alone is refused");
	is_str(again(" "), "no NAME=VALUE, as in lr=0.01", "nothing is refused");
	is_str(again("lr=1 lr=2"), "lr: is given twice", "a name given twice is refused");
	ok(settings_parse_change("slack=0", &s) == ERR_ARG && settings_parse_change("lr=-1", &s) == ERR_ARG &&
	    settings_parse_change("lr=nan", &s) == ERR_ARG && settings_parse_change("momentum=1.1", &s) == ERR_ARG &&
	    settings_parse_change("wd=", &s) == ERR_ARG, "values out of bounds are refused");
}

static void
test_put(const struct settings *all)
{
	static struct settings again;
	struct buf text = { 0 };

	is(settings_put(all, &text), 0, "changes with steps are written");
	is_str((char *)text.p, "10:lr=0.1,slack=7 20:wd=0.5 30:lr=0.2,slack=3", "the text has all of them");
	ok(settings_parse((char *)text.p, &again) == 0 && again.n == 3 && memcmp(again.at, all->at, 3 * sizeof(all->at[0])) == 0,
	    "the text is read as the same changes");
	ok(settings_same(&all->at[0], &again.at[0]) && !settings_same(&all->at[0], &all->at[2]), "changes are compared by what they set");
	buf_free(&text);
}

static void
test_steps(void)
{
	static struct settings all;
	struct setting s;
	uint32_t slack = 2, most;

	is(settings_parse("10:lr=0.1,slack=7  20:wd=0.5\n30:lr=0.2,slack=3", &all), 0, "changes with steps are read");
	is(all.n, 3, "all are");
	settings_at(&all, 9, &s);
	is(s.has, 0, "nothing holds before the first step");
	settings_at(&all, 29, &s);
	ok(s.has == (SETTING_LR | SETTING_WD | SETTING_SLACK) && s.lr == 0.1 && s.wd == 0.5,
	    "all changes up to a step hold in it");
	settings_at(&all, 30, &s);
	ok(s.lr == 0.2 && s.wd == 0.5, "the last one of a setting counts");
	settings_slack(&all, &slack, &most);
	ok(slack == 3 && most == 7, "the last slack holds, and the largest is known");
	test_put(&all);
	ok(settings_parse("lr=0.1", &all) == ERR_ARG && settings_parse("x:lr=1", &all) == ERR_ARG &&
	    settings_parse("1:lr=x", &all) == ERR_ARG, "malformed changes are refused");
}

static void
test_bytes(void)
{
	static struct settings all;
	struct setting s = { .id = 9, .from = 5, .number = 1, .has = SETTING_LR | SETTING_WD, .lr = 0.1, .wd = 0.25 }, t;
	uint8_t b[2 * SETTING_BYTES];

	settings_put_change(&s, b);
	is(settings_get_change(b, &t), 0, "bytes are read");
	ok(memcmp(&s, &t, sizeof(s)) == 0, "they are the same change");
	s.number = 2;
	settings_put_change(&s, b + SETTING_BYTES);
	is(settings_take(&all, b, SETTING_BYTES), 1, "a change is taken");
	is(settings_take(&all, b, 2 * SETTING_BYTES), 1, "a change that is known is a repetition");
	is(settings_take(&all, b, 2 * SETTING_BYTES), 0, "both are repetitions then");
	ok(settings_find(&all, 9) == &all.at[0] && settings_find(&all, 8) == NULL, "a change is found by its id");
	is(settings_take(&all, b, 7), ERR_FORMAT, "another length is refused");
	s = (struct setting){ .number = 3, .has = SETTING_LR, .lr = NAN };
	settings_put_change(&s, b);
	is(settings_take(&all, b, SETTING_BYTES), ERR_FORMAT, "NaN is refused");
	s = (struct setting){ .number = 3, .has = SETTING_SLACK, .slack = STALE_SYNC };
	settings_put_change(&s, b);
	is(settings_take(&all, b, SETTING_BYTES), ERR_FORMAT, "slack 0 is refused");
	s = (struct setting){ .number = 0, .has = SETTING_LR };
	settings_put_change(&s, b);
	is(settings_take(&all, b, SETTING_BYTES), ERR_FORMAT, "a change that is not decided is refused");
	s = (struct setting){ .number = 3, .has = 64 };
	settings_put_change(&s, b);
	is(settings_take(&all, b, SETTING_BYTES), ERR_FORMAT, "unknown members are refused");
	s = (struct setting){ .number = UINT32_MAX, .has = SETTING_LR };
	settings_put_change(&s, b);
	is(settings_take(&all, b, SETTING_BYTES), ERR_FORMAT, "a number above that of the last change is refused");
	is(all.n, 2, "nothing of it was added");
}

/* A server that dies while it stores its first change has none. */
static void
test_halves(void)
{
	static struct settings_kept k;
	const struct setting s = { .id = 1, .number = 1, .has = SETTING_LR, .lr = 0.5 };
	struct memory m = { .fd = -1 };

	is(settings_kept(&k)->n, 0, "a new memory has no changes");
	settings_add(&k.record[memory_other(&k.word)], &s);
	is(settings_kept(&k)->n, 0, "a change that is being stored is not there, if it is the first");
	memory_publish(&m, &k.word, memory_other(&k.word));
	is(settings_kept(&k)->n, 1, "a change that is published is there");
	k.record[memory_other(&k.word)].n = 200;
	is(settings_kept(&k)->n, 1, "the next change that is being stored is not there");
	k.record[0].n = k.record[1].n = SETTINGS_MOST + 1;
	is(settings_kept(&k)->n, 0, "a damaged memory has no changes");
}

int
main(void)
{
	test_text();
	test_steps();
	test_bytes();
	test_halves();
	return done();
}
