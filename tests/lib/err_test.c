/* err_test - one code and one line for what went wrong. */
#include "base/err.h"

#include "tap.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

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
	err_note(0, "of another thread");
	return NULL;
}

int
main(void)
{
	char seen[64] = "unset", longest[4096];
	pthread_t t;

	is_str(err_line(), "", "no line at first");
	is(fails(), ERR_SHORT, "err_fail is the code");
	is_str(err_line(), "record at 12: ends early", "... and notes the line");
	is(system_fails(), ERR_SYS, "err_sys is ERR_SYS");
	is_str(err_line(), "open x.rec: No such file or directory", "... with errno's text");
	is(errno, ENOENT, "errno is kept");
	err_note(0, "inner: %s", err_line());
	is_str(err_line(), "inner: open x.rec: No such file or directory", "the old line may be an argument");
	err_note(0, "bad");
	err_within("%s:%d", "file", 3);
	is_str(err_line(), "file:3: bad", "err_within names the place in front");

	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	err_note(ENOENT, "%s", longest);
	is(strlen(err_line()), 1023, "an endless line is cut");
	err_within("%s", longest);
	is(strlen(err_line()), 1023, "... also behind an endless place");
	ok(strstr(err_line(), ": a") != NULL, "... and some of it is left");

	err_note(0, "mine");
	pthread_create(&t, NULL, other_thread, seen);
	pthread_join(t, NULL);
	is_str(seen, "", "another thread has a line of its own");
	is_str(err_line(), "mine", "... and leaves this one's alone");

	is_str(err_text(ERR_PEER), "a peer went away", "each code has a general text");
	is_str(err_text(-99), "unknown error", "... and what is none says so");
	return done();
}
