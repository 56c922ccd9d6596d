/* ask - questions of a verb to the launcher of a job, and their answers, by two files of the job's directory. */
#include "dlaunch/dlaunch.h"
#include "front.h"

#include "base/clk.h"
#include "base/err.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUESTION "question"	/* ID VERB TEXT */
#define ANSWER	"answer"	/* ID STEP WHY */

/* Reads a file that begins with an id.  *rest is what follows. */
static bool
read_file(const struct jobdir *d, const char *file, uint64_t *id, struct buf *b, char **rest)
{
	if (d->dir < 0 || jobdir_get(d, file, JOBDIR_MOST, b) < 0)
		return false;
	*id = strtoull((char *)b->p, rest, 16);
	return *id != 0 && *(*rest)++ == ' ';
}

/* Waits until the launcher has answered.  Returns false if the job has ended before. */
static bool
wait_for_answer(const struct jobdir *d, uint64_t id, struct buf *answer, char **rest)
{
	double since = clk_s(), report_at = since + DLAUNCH_REPORT_S;
	struct jobdir_state s;
	uint64_t answered;
	int e;

	do {
		if ((e = jobdir_read_state(d, &s)) < 0)
			front_die(d->name, e);
		if (read_file(d, ANSWER, &answered, answer, rest) && answered == id)
			return true;
		if (clk_s() >= report_at) {
			front_say("job %s: waiting for its launcher, process %d", d->name, (int)s.pid);
			report_at = clk_s() + (clk_s() - since);
		}
	} while (s.running && poll(NULL, 0, DLAUNCH_TICK_MS) == 0);
	return false;
}

/* Returns false if the launcher has ended before it answered. */
static bool
ask_launcher(const struct jobdir *d, const char *verb, uint64_t id, const char *text, struct buf *answer, char **rest)
{
	char elsewhere[32], question[SETTINGS_TEXT + 64];
	struct jobdir_state s;
	int e, n;

	snprintf(elsewhere, sizeof(elsewhere), "%s it there", verb);
	s = dlaunch_find_launcher(d->name, d, elsewhere);
	n = snprintf(question, sizeof(question), "%016" PRIx64 " %s %s", id, verb, text);
	if ((e = jobdir_put(d, QUESTION, question, (size_t)n)) < 0)
		front_die(d->name, e);
	if (s.pid <= 0 || (kill(s.pid, SIGUSR1) < 0 && errno != ESRCH))
		front_die(d->name, err_sys("launcher process %d", (int)s.pid));
	return wait_for_answer(d, id, answer, rest);
}

/*
 * One at a time, where the file system can lock: another question would replace this one.  A launcher that this process
 * starts must not inherit the lock, as it would that of flock(2).
 */
static void
lock_questions(const struct jobdir *d)
{
	const int fd = openat(d->dir, "asks", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fd >= 0)
		(void)fcntl(fd, F_SETLKW, &whole);
}

uint64_t
dlaunch_ask(const struct jobdir *d, const char *verb, const char *text)
{
	struct buf answer = { 0 };
	uint64_t id, from;
	char *rest;

	front_must(NULL, io_random(&id, sizeof(id)));
	id |= 1;	/* not 0 */
	lock_questions(d);
	/* A launcher that was just killed may have seemed to live: then another one takes the job over. */
	if (!ask_launcher(d, verb, id, text, &answer, &rest) && !ask_launcher(d, verb, id, text, &answer, &rest)) {
		unlinkat(d->dir, QUESTION, 0);
		front_wrong("job %s has ended", d->name);
	}
	from = strtoull(rest, &rest, 10);
	if (*rest != 0 && rest[1] != 0)
		front_wrong("job %s: %s", d->name, rest + 1);
	buf_free(&answer);
	return from;
}

bool
dlaunch_find_question(const struct jobdir *d, const char *verb, uint64_t *id, char text[SETTINGS_TEXT])
{
	const size_t n = strlen(verb);
	struct buf b = { 0 };
	char *rest;
	bool is = read_file(d, QUESTION, id, &b, &rest) && strncmp(rest, verb, n) == 0 && rest[n] == ' ' &&
	    snprintf(text, SETTINGS_TEXT, "%s", rest + n + 1) < (int)SETTINGS_TEXT;

	buf_free(&b);
	return is;
}

void
dlaunch_answer(const struct jobdir *d, uint64_t id, uint64_t from, const char *why)
{
	char text[ERR_LINE + 64], *rest;
	struct buf b = { 0 };
	uint64_t asked;
	int n = snprintf(text, sizeof(text), "%016" PRIx64 " %" PRIu64 " %s", id, from, why != NULL ? why : "");

	if (read_file(d, QUESTION, &asked, &b, &rest) && asked == id) {
		if (jobdir_put(d, ANSWER, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1) < 0)
			front_warn("--job", ERR_SYS);
		unlinkat(d->dir, QUESTION, 0);
	}
	buf_free(&b);
}
