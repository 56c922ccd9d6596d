/* err_test - error codes and the line of the last error. */
#include "base/err.h"

#include "tap.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

static int
fails(void)
{
	return err_fail(ERR_SHORT, "record at %d: ends early", 12);
}

static int
system_fails(void)
{
	errno = ENOENT;
	return err_sys("open %s", "x.rec");
}

static void *
other_thread(void *line)
{
	snprintf(line, 64, "%s", err_line());
	err_note(0, "line of another thread");
	return NULL;
}

int
main(void)
{
	char seen[64] = "unset", longest[4096];
	pthread_t t;

	is_str(err_line(), "", "a new thread has no line");
	is(fails(), ERR_SHORT, "err_fail returns its code");
	is_str(err_line(), "record at 12: ends early", "err_fail records the line");
	is(system_fails(), ERR_SYS, "err_sys returns ERR_SYS");
	is_str(err_line(), "open x.rec: No such file or directory", "err_sys appends the text of errno");
	is(errno, ENOENT, "err_sys keeps errno");
	err_note(0, "inner: %s", err_line());
	is_str(err_line(), "inner: open x.rec: No such file or directory", "the previous line may be an argument");
	err_note(0, "bad");
	err_within("%s:%d", "file", 3);
	is_str(err_line(), "file:3: bad", "err_within puts text before the line");
	is(err_wrap(ERR_ITEM, "%s", "in"), ERR_ITEM, "err_wrap returns its error");
	is_str(err_line(), "in: file:3: bad", "err_wrap puts text before the line of an error");
	is(err_wrap(1, "%s", "out"), 1, "err_wrap returns what is no error");
	is_str(err_line(), "in: file:3: bad", "err_wrap leaves the line alone without an error");

	setrlimit(RLIMIT_AS, &(struct rlimit){ (rlim_t)1 << 62, RLIM_INFINITY });
	is(err_nomem(), ERR_NOMEM, "err_nomem returns its code");
	is_str(err_line(), "out of memory: raise the limit of address space (ulimit -v)", "the line names a limit of address space");
	err_own_memory_limit();
	err_note_memory();
	is_str(err_line(), "out of memory", "the line does not name a limit that the process has set for itself");

	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	err_note(ENOENT, "%s", longest);
	is(strlen(err_line()), 1023, "err_note cuts a long line");
	is_str(strchr(err_line(), ':'), ": No such file or directory", "err_note keeps the text of errno after a long name");
	err_within("%s", longest);
	is(strlen(err_line()), 1023, "err_within cuts a long line");
	ok(strstr(err_line(), ": a") != NULL, "err_within with a long prefix keeps a part of the line");

	err_note(0, "mine");
	pthread_create(&t, NULL, other_thread, seen);
	pthread_join(t, NULL);
	is_str(seen, "", "another thread has its own line");
	is_str(err_line(), "mine", "another thread's error leaves this thread's line unchanged");

	is_str(err_text(ERR_PEER), "a peer went away", "err_text returns the text of a code");
	is_str(err_text(-99), "unknown error", "err_text accepts an unknown code");
	return done();
}
