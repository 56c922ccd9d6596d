/*
 * err - what went wrong, as one code and one line.
 *
 * Library functions return 0 (cursors: 1 "here is one", 0 "the end") or one of
 * the negative codes below.  The line that says what happened is noted for the
 * calling thread and read at the edge by the command:
 *
 *	return err_fail(ERR_SHORT, "record at %llu: ends early", at);
 *	return err_sys("open %s", path);	(appends ": " and strerror(errno))
 *
 * Both are macros so that the compiler sees the sign of what is returned.
 * Threads: the line belongs to the thread that noted it; hand code and line to
 * another thread with err_note().
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#define ERR_LIST(X) \
	X(ERR_SYS, -1, "system error") \
	X(ERR_NOMEM, -2, "out of memory") \
	X(ERR_SHORT, -3, "ends too early") \
	X(ERR_FORMAT, -4, "not in the format expected") \
	X(ERR_LIMIT, -5, "over a limit") \
	X(ERR_NOTSUP, -6, "not supported") \
	X(ERR_ARG, -7, "options do not fit together") \
	X(ERR_ITEM, -8, "this item is bad, the stream goes on") \
	X(ERR_PEER, -9, "a peer went away") \
	X(ERR_AUTH, -10, "a peer was refused") \
	X(ERR_AGAIN, -11, "not yet") \
	X(ERR_STOP, -12, "stopped on request")

#define ERR_ENUM(name, code, text) name = code,
enum err { ERR_LIST(ERR_ENUM) ERR_LAST_ };
#undef ERR_ENUM

#define err_fail(code, ...)	(err_note(0, __VA_ARGS__), (code))
#define err_sys(...)		(err_note(errno, __VA_ARGS__), ERR_SYS)
#define err_nomem()		(err_note(0, "out of memory"), ERR_NOMEM)

/* Notes the line for this thread; errnum other than 0 appends its text.  errno is kept. */
void err_note(int errnum, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Puts "text: " in front of the line noted last, to name the file, record or peer. */
void err_within(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The line noted last by this thread; "" when none.  Valid until the next note. */
const char *err_line(void);

/* The general text of a code, for want of a line. */
const char *err_text(int code);

#endif
