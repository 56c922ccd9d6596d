/* err - error codes, and one line of text for the last error. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static _Thread_local char line[ERR_LINE];
static bool own_limit;

void
err_note(int errnum, const char *fmt, ...)
{
	char text[ERR_LINE];	/* the arguments may point into the old line */
	int keep = errno;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (errnum != 0) {
		const char *why = strerror(errnum);
		size_t n = strlen(text), most = sizeof(text) - strlen(why) - sizeof(": ");

		/* A long name is cut before the reason. */
		n = n < most ? n : most;
		snprintf(text + n, sizeof(text) - n, ": %s", why);
	}
	memcpy(line, text, sizeof(line));
	errno = keep;
}

void
err_note_memory(void)
{
	struct rlimit r;
	const bool limited = !own_limit && getrlimit(RLIMIT_AS, &r) == 0 && r.rlim_cur != RLIM_INFINITY;

	err_note(0, "out of memory%s", limited ? ": raise the limit of address space (ulimit -v)" : "");
}

void
err_own_memory_limit(void)
{
	own_limit = true;
}

static void
put_before(const char *fmt, va_list ap)
{
	char head[ERR_LINE / 2], tail[ERR_LINE];

	vsnprintf(head, sizeof(head), fmt, ap);
	memcpy(tail, line, sizeof(tail));
	snprintf(line, sizeof(line), "%s: %.*s", head, (int)(sizeof(line) - strlen(head) - 3), tail);
}

void
err_within(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_before(fmt, ap);
	va_end(ap);
}

int
err_wrap(int e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (e < 0)
		put_before(fmt, ap);
	va_end(ap);
	return e;
}

const char *
err_line(void)
{
	return line;
}

const char *
err_text(int code)
{
	switch (code) {
#define ERR_CASE(name, value, text) case name: return text;
	ERR_LIST(ERR_CASE)
#undef ERR_CASE
	default: return "unknown error";
	}
}
