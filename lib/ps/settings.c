/* settings - options of a job that a user changes while it runs: dlaunch set. */
#include "ps/settings.h"
#include "base/err.h"
#include "base/num.h"
#include "ps/stale.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BETWEEN " ,"

/* Not codec_name(), so that dlaunch needs no mathematical library. */
static const char *const codecs[] = { [CODEC_F32] = "f32", [CODEC_BF16] = "bf16", [CODEC_FP16] = "fp16" };

static int
parse_slack(const char *value, uint32_t *slack)
{
	uint64_t v;

	if (strcmp(value, "async") == 0) {
		*slack = STALE_ASYNC;
		return 0;
	}
	ERR_TRY(num_u64(value, 1, STALE_ASYNC - 1, &v));
	*slack = (uint32_t)v;
	return 0;
}

/* The bounds are those of the options with these names. */
static int
parse_setting(const char *name, const char *value, struct setting *s)
{
	if (strcmp(name, "lr") == 0) {
		s->has |= SETTING_LR;
		return num_f64(value, 0, 1e6, &s->lr);
	}
	if (strcmp(name, "momentum") == 0) {
		s->has |= SETTING_MOMENTUM;
		return num_f64(value, 0, 1, &s->momentum);
	}
	if (strcmp(name, "slack") == 0) {
		s->has |= SETTING_SLACK;
		return parse_slack(value, &s->slack);
	}
	if (strcmp(name, "wd") == 0) {
		s->has |= SETTING_WD;
		return num_f64(value, 0, 1e30, &s->wd);
	}
	if (strcmp(name, "codec") == 0) {
		s->has |= SETTING_CODEC;
		for (s->codec = CODEC_F32; s->codec <= CODEC_FP16; s->codec++)
			if (strcmp(value, codecs[s->codec]) == 0)
				return 0;
		return err_fail(ERR_ARG, "'%.64s' is none of f32, bf16 and fp16", value);
	}
	return err_fail(ERR_ARG, "no such setting; there are " SETTINGS_NAMES);
}

int
settings_parse_change(const char *text, struct setting *s)
{
	char copy[SETTINGS_TEXT], *rest = copy, *word;

	*s = (struct setting){ .has = 0 };
	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
		return err_fail(ERR_ARG, "settings of more than %u bytes", SETTINGS_TEXT - 1);
	while ((word = strsep(&rest, BETWEEN)) != NULL) {
		char *is = strchr(word, '=');
		const uint32_t before = s->has;

		if (*word == 0)
			continue;
		if (is == NULL)
			return err_fail(ERR_ARG, "'%.64s' is not NAME=VALUE, as in lr=0.01", word);
		*is = 0;
		if (parse_setting(word, is + 1, s) < 0) {
			err_within("%.64s", word);
			return ERR_ARG;
		}
		if (s->has == before)
			return err_fail(ERR_ARG, "%.64s: is given twice", word);
	}
	return s->has != 0 ? 0 : err_fail(ERR_ARG, "no NAME=VALUE, as in lr=0.01");
}

/* Appends a number with as few digits as it needs. */
static void
add_number(char text[SETTINGS_TEXT], const char *name, char between, double v)
{
	const size_t n = strlen(text);
	char value[32];

	for (int digits = 6; digits <= 17; digits++) {
		snprintf(value, sizeof(value), "%.*g", digits, v);
		if (strtod(value, NULL) == v)
			break;
	}
	snprintf(text + n, SETTINGS_TEXT - n, "%s%s=%s", n > 0 ? (char[]){ between, 0 } : "", name, value);
}

void
settings_change_text(const struct setting *s, char between, char text[SETTINGS_TEXT])
{
	const char gap[] = { between, 0 };
	size_t n;

	text[0] = 0;
	if (s->has & SETTING_LR)
		add_number(text, "lr", between, s->lr);
	if (s->has & SETTING_MOMENTUM)
		add_number(text, "momentum", between, s->momentum);
	if (s->has & SETTING_WD)
		add_number(text, "wd", between, s->wd);
	n = strlen(text);
	if (s->has & SETTING_CODEC)
		snprintf(text + n, SETTINGS_TEXT - n, "%scodec=%s", n > 0 ? gap : "", codecs[s->codec]);
	n = strlen(text);
	if (s->has & SETTING_SLACK && s->slack == STALE_ASYNC)
		snprintf(text + n, SETTINGS_TEXT - n, "%sslack=async", n > 0 ? gap : "");
	else if (s->has & SETTING_SLACK)
		snprintf(text + n, SETTINGS_TEXT - n, "%sslack=%" PRIu32, n > 0 ? gap : "", s->slack);
}

/* STEP:NAME=VALUE,NAME=VALUE */
static int
parse_step(char *word, struct settings *all)
{
	char *colon = strchr(word, ':');
	struct setting s;
	uint64_t from;

	if (colon == NULL)
		return err_fail(ERR_ARG, "is not STEP:NAME=VALUE,...");
	*colon = 0;
	ERR_TRY(num_u64(word, 0, UINT64_MAX - 1, &from));
	ERR_TRY(settings_parse_change(colon + 1, &s));
	s.from = from;
	s.number = (uint32_t)all->n + 1;
	return settings_add(all, &s) ? 0 : err_fail(ERR_ARG, "more than %u changes", SETTINGS_MOST);
}

int
settings_parse(const char *text, struct settings *all)
{
	char *copy, *rest, *word;
	int e = 0;

	all->n = 0;
	if (text == NULL)
		return 0;
	if ((rest = copy = strdup(text)) == NULL)
		return err_nomem();
	while (e == 0 && (word = strsep(&rest, " \n")) != NULL)
		if (*word != 0 && (e = parse_step(word, all)) < 0)
			err_within("'%.64s'", word);
	free(copy);
	return e < 0 ? ERR_ARG : 0;
}

int
settings_put(const struct settings *all, struct buf *text)
{
	char change[SETTINGS_TEXT];

	for (uint64_t i = 0; i < all->n; i++) {
		const struct setting *s = &all->at[i];

		settings_change_text(s, ',', change);
		ERR_TRY(buf_put_fmt(text, "%" PRIu64 ":%s%s", s->from, change, i + 1 < all->n ? " " : ""));
	}
	return buf_terminate(text);
}

bool
settings_add(struct settings *all, const struct setting *s)
{
	if (all->n >= SETTINGS_MOST || s->number <= (all->n > 0 ? all->at[all->n - 1].number : 0))
		return false;
	all->at[all->n++] = *s;
	return true;
}

const struct setting *
settings_find(const struct settings *all, uint64_t id)
{
	for (uint64_t i = 0; i < all->n; i++)
		if (all->at[i].id == id)
			return &all->at[i];
	return NULL;
}

bool
settings_same(const struct setting *a, const struct setting *b)
{
	char of_a[SETTINGS_TEXT], of_b[SETTINGS_TEXT];

	settings_change_text(a, ',', of_a);
	settings_change_text(b, ',', of_b);
	return strcmp(of_a, of_b) == 0;
}

void
settings_at(const struct settings *all, uint64_t step, struct setting *s)
{
	*s = (struct setting){ .has = 0 };
	for (uint64_t i = 0; i < all->n; i++) {
		const struct setting *c = &all->at[i];

		if (c->from > step)
			continue;
		s->has |= c->has;
		s->lr = c->has & SETTING_LR ? c->lr : s->lr;
		s->momentum = c->has & SETTING_MOMENTUM ? c->momentum : s->momentum;
		s->slack = c->has & SETTING_SLACK ? c->slack : s->slack;
		s->codec = c->has & SETTING_CODEC ? c->codec : s->codec;
		s->wd = c->has & SETTING_WD ? c->wd : s->wd;
	}
}

bool
settings_codec(const struct settings *all, uint64_t step, struct codec *c)
{
	struct setting s;

	settings_at(all, step, &s);
	*c = (struct codec){ .kind = (enum codec_kind)s.codec };
	return s.has & SETTING_CODEC;
}

void
settings_slack(const struct settings *all, uint32_t *slack, uint32_t *most)
{
	*most = *slack;
	for (uint64_t i = 0; i < all->n; i++)
		if (all->at[i].has & SETTING_SLACK) {
			*slack = all->at[i].slack;
			*most = *slack > *most ? *slack : *most;
		}
}

enum { AT_ID = 0, AT_FROM = 8, AT_NUMBER = 16, AT_HAS = 20, AT_SLACK = 24, AT_CODEC = 28, AT_LR = 32, AT_MOMENTUM = 40,
	AT_WD = 48, AT_END = 56 };

_Static_assert(AT_END == SETTING_BYTES, "a change has SETTING_BYTES bytes");

void
settings_put_change(const struct setting *s, uint8_t to[SETTING_BYTES])
{
	le_put64(to + AT_ID, s->id);
	le_put64(to + AT_FROM, s->from);
	le_put32(to + AT_NUMBER, s->number);
	le_put32(to + AT_HAS, s->has);
	le_put32(to + AT_SLACK, s->slack);
	le_put32(to + AT_CODEC, s->codec);
	le_putf64(to + AT_LR, s->lr);
	le_putf64(to + AT_MOMENTUM, s->momentum);
	le_putf64(to + AT_WD, s->wd);
}

/* NaN is outside, too. */
static bool
is_within(double v, double most)
{
	return v >= 0 && v <= most;
}

int
settings_get_change(const uint8_t from[SETTING_BYTES], struct setting *s)
{
	*s = (struct setting){ .id = le_get64(from + AT_ID), .from = le_get64(from + AT_FROM),
	    .number = le_get32(from + AT_NUMBER), .has = le_get32(from + AT_HAS), .slack = le_get32(from + AT_SLACK),
	    .codec = le_get32(from + AT_CODEC),
	    .lr = le_getf64(from + AT_LR), .momentum = le_getf64(from + AT_MOMENTUM), .wd = le_getf64(from + AT_WD) };
	if (s->has == 0 || s->has & ~SETTING_ALL || s->from == UINT64_MAX || s->number > SETTINGS_MOST ||
	    (s->has & SETTING_SLACK && s->slack == STALE_SYNC) || s->codec > CODEC_FP16 ||
	    !is_within(s->lr, 1e6) || !is_within(s->momentum, 1) || !is_within(s->wd, 1e30))
		return err_fail(ERR_FORMAT, "a malformed change of settings");
	return 0;
}

int
settings_take(struct settings *all, const void *p, size_t n)
{
	const uint8_t *at = p, *end;
	struct setting s;
	int added = 0;

	if (n == 0 || n % SETTING_BYTES != 0 || n > SETTINGS_MOST * SETTING_BYTES)
		return err_fail(ERR_FORMAT, "settings of %zu bytes", n);
	end = at + n;
	for (const uint8_t *q = at; q < end; q += SETTING_BYTES) {
		ERR_TRY(settings_get_change(q, &s));
		if (s.number == 0)
			return err_fail(ERR_FORMAT, "a change of settings without a number");
	}
	for (; at < end; at += SETTING_BYTES) {
		settings_get_change(at, &s);
		added += settings_add(all, &s);
	}
	return added;
}

const struct settings *
settings_kept(const struct settings_kept *k)
{
	static const struct settings none;
	const int half = memory_half(&k->word);

	/* The memory of an earlier process may be damaged. */
	return half < 0 || k->record[half].n > SETTINGS_MOST ? &none : &k->record[half];
}
