/*
 * err - error codes, and one line of text for the last error.
 *
 * lib/base holds what every other folder needs.  Read in this order: err; buf, grow, io, frame and proto (bytes and
 * files); num, hash and rng (numbers); nearest (mistyped words); clk, mem, secret, isa, datadir and confine (system);
 * threads, lockfile, log_callback.
 *
 * Library functions return 0 or one of the negative codes below.  Cursors return 1 for an item and 0 at the end.  A
 * function that fails records a line that says what happened; the command prints it:
 *
 *	return err_fail(ERR_SHORT, "record at %llu: ends early", at);
 *	return err_sys("open %s", path);	(appends ": " and strerror(errno))
 *
 * Both are macros, so that the compiler sees that the result is negative.
 * Threads: each thread has its own line.  To pass an error to another thread, pass the code and the text, and call
 * err_note() there.
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
	X(ERR_ITEM, -8, "bad item; the stream goes on") \
	X(ERR_PEER, -9, "a peer went away") \
	X(ERR_AUTH, -10, "a peer was refused") \
	X(ERR_AGAIN, -11, "not yet") \
	X(ERR_STOP, -12, "stopped on request") \
	X(ERR_BYTES, -13, "a file of more bytes than allowed") \
	X(ERR_PIXELS, -14, "an image of more pixels than allowed") \
	X(ERR_CLASS, -15, "an image of none of the given classes")

#define ERR_LINE	1024	/* bytes of err_line() with its zero; a longer one is cut */

#define ERR_ENUM(name, code, text) name = code,
enum err { ERR_LIST(ERR_ENUM) ERR_LAST_ = ERR_CLASS };
#undef ERR_ENUM

#define err_fail(code, ...)	(err_note(0, __VA_ARGS__), (code))
#define err_sys(...)		(err_note(errno, __VA_ARGS__), ERR_SYS)
#define err_nomem()		(err_note_memory(), ERR_NOMEM)

/* Returns from the calling function with the error of a call, if it has one. */
#define ERR_TRY(call) \
	do { \
		int err_try_ = (call); \
		\
		if (err_try_ < 0) \
			return err_try_; \
	} while (0)

/* Records this thread's line, followed by the text of errnum if that is not 0.  Keeps errno. */
void err_note(int errnum, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Records that there is no memory, and what to raise if a limit of address space may be the cause. */
void err_note_memory(void);

/* The process sets its own limit of address space, which no later line advises to raise.  One thread calls it. */
void err_own_memory_limit(void);

/* Puts "text: " before the recorded line, to name the file, record or peer. */
void err_within(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The same if e is an error.  Returns e. */
int err_wrap(int e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* This thread's last line, or "" if there is none.  Valid until the next err_ call. */
const char *err_line(void);

/* The general text of a code, for where no line is at hand. */
const char *err_text(int code);

#endif
