/* set - changes settings of a job while it runs: the verb, and its launcher's side. */
#include "dlaunch/dlaunch.h"
#include "front.h"

#include "base/err.h"
#include "base/io.h"
#include "ps/settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads the changes of the job so far; there may be none. */
static int
read_settings(const struct jobdir *d, struct buf *text)
{
	int e = jobdir_get(d, "settings", JOBDIR_MOST, text);

	return e == ERR_ARG ? 0 : e;
}

/* Changes of settings that are known take effect again in each attempt, after those that the user gave. */
void
dlaunch_add_settings(const struct dlaunch *c, const struct jobdir *d, struct words *env)
{
	const char *first = getenv("TALLY_SET");
	struct buf text = { 0 };
	int e = 0;

	if (c->dmlc || d->dir < 0)
		return;
	front_must("--job", read_settings(d, &text));
	for (char **word = c->env.v; word != NULL && *word != NULL; word++)
		if (strncmp(*word, "TALLY_SET=", strlen("TALLY_SET=")) == 0)
			first = *word + strlen("TALLY_SET=");
	if (text.n > 0 && (e = words_add(env, "TALLY_SET=%s %s", first != NULL ? first : "", (char *)text.p)) < 0)
		front_die(NULL, e);
	buf_free(&text);
}

/* Appends a change to those of the job, unless a launcher that was killed has done so. */
static void
store_setting(const struct jobdir *d, const char *text, uint64_t from)
{
	struct setting s;
	struct buf all = { 0 };
	char words[SETTINGS_TEXT], line[SETTINGS_TEXT + 32];
	size_t n;
	int e;

	if (settings_parse_change(text, &s) < 0)
		return;
	settings_change_text(&s, ',', words);
	n = (size_t)snprintf(line, sizeof(line), "%" PRIu64 ":%s\n", from, words);
	e = read_settings(d, &all);
	if (e == 0 && all.n >= n && memcmp(all.p + all.n - n, line, n) == 0)
		n = 0;
	if (e < 0 || (e = buf_put(&all, line, n)) < 0 || (e = jobdir_put(d, "settings", all.p, all.n)) < 0)
		front_warn("--job", e);
	buf_free(&all);
}

static void
answer_set(void *arg, uint64_t id, const char *text, uint64_t from, const char *why)
{
	const struct dlaunch_asked *s = arg;

	if (why == NULL)
		store_setting(s->job, text, from);
	dlaunch_answer(s->job, id, from, why);
}

static bool
read_wanted_settings(void *arg, uint64_t *id, char text[SETTINGS_TEXT])
{
	const struct dlaunch_asked *s = arg;
	const char *command = io_base_name(s->c->argv[0]);
	bool is = dlaunch_find_question(s->job, "set", id, text);
	char why[256];

	if (!is || (!s->c->dmlc && strcmp(command, "pworker") == 0))
		return is;
	snprintf(why, sizeof(why), "it runs %.128s; only the settings of pworker change", command);
	dlaunch_answer(s->job, *id, 0, why);
	return false;
}

struct launch_set
dlaunch_set_calls(struct dlaunch_asked *s)
{
	return (struct launch_set){ .wanted = read_wanted_settings, .answer = answer_set, .arg = s };
}

int
dlaunch_set_job(char *const *words)
{
	const char *name = words[0];
	struct buf given = { 0 };
	char text[SETTINGS_TEXT];
	struct setting s;
	struct jobdir d;
	int e = 0;

	if (name == NULL || words[1] == NULL)
		front_wrong("set: needs the name of one job and settings, as in lr=0.01");
	for (words++; *words != NULL && e == 0; words++)
		e = buf_put_fmt(&given, "%s ", *words);
	if (e < 0 || (e = buf_terminate(&given)) < 0)
		front_die(NULL, e);
	if (settings_parse_change((char *)given.p, &s) < 0)
		front_wrong("set: %s", err_line());
	settings_change_text(&s, ' ', text);
	if ((e = jobdir_open(name, &d)) < 0)
		front_die(NULL, e);
	printf("after step %" PRIu64 ": %s\n", dlaunch_ask(&d, "set", text), text);
	buf_free(&given);
	jobdir_close(&d);
	front_flush();
	return 0;
}
