/* front - what all tools share: name, usage, messages, exit codes, typed options. */
#include "front.h"
#include "front_progress.h"
#include "front_recipe.h"
#include "front_wait.h"

#include "base/err.h"
#include "base/io.h"
#include "base/isa.h"
#include "base/num.h"
#include "base/secret.h"
#include "run/consequence.h"
#include "wire/addr.h"
#include "wire/conn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE	8192	/* bytes of a message */

static const char *tool = "tally", *usage_text = "", *help_text = "";
static unsigned warnings;
static int failure;	/* the exit status after any error; 0: that of the error */
static uint8_t (*keys)[CONN_KEY];	/* [FRONT_KEYS] */

/*
 * If a standard descriptor is closed, the next file that is opened gets its number, and messages would go into that
 * file.  So this opens /dev/null there, in the wrong direction: a use still fails.  open(2) takes the lowest number.
 */
static void
hold_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			front_die("/dev/null", err_sys("open"));
}

static void
note_file_limit(int sig)
{
	(void)sig;
}

void
front_init(const char *argv0, const char *usage, const char *help)
{
	enum isa limit;

	tool = io_base_name(argv0);
	usage_text = usage;
	help_text = help;
	hold_descriptors();
	/* write(2) then fails beyond ulimit -f.  Commands that are started do not inherit a handler. */
	signal(SIGXFSZ, note_file_limit);
	if (isa_limit(&limit) < 0)
		front_die(NULL, ERR_ARG);
}

void
front_usage(void)
{
	fprintf(stderr, "usage: %s\n", usage_text);
	exit(FRONT_USAGE);
}

void
front_missing(int argc, const char *what)
{
	if (argc <= 1)
		front_usage();
	front_wrong("%s; --help shows the usage", what);
}

void
front_help(void)
{
	printf("usage: %s\n%s", usage_text, help_text);
	front_flush();
	exit(0);
}

void
front_version(void)
{
	printf("%s (tally) %s\n", tool, TALLY_VERSION);
	front_flush();
	exit(0);
}

/*
 * Writes a line at once.  Control characters, which a name may contain, become question marks.  Any thread may call it:
 * the lock of stderr protects the progress too.
 */
static void
write_line(bool marked, const char *thing, const char *text)
{
	char line[LINE];
	int n = snprintf(line, sizeof(line), "%s: %s%s%s", tool, thing != NULL ? thing : "", thing != NULL ? ": " : "",
	    text);

	for (char *p = line; n > 0 && *p != 0; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	flockfile(stderr);
	progress_clear();
	fprintf(stderr, "%s%s\n", marked ? (char[]){ CONSEQUENCE_MARK, 0 } : "", line);
	funlockfile(stderr);
}

static void
write_message(const char *thing, const char *text)
{
	write_line(false, thing, text);
}

static const char *
get_error_text(int e)
{
	return err_line()[0] != 0 ? err_line() : err_text(e);
}

int64_t
front_num(const char *option, const char *text, int64_t lo, int64_t hi)
{
	int64_t v = 0;

	if (num_i64(text, lo, hi, &v) < 0)
		front_wrong("%s: %s", option, err_line());
	return v;
}

double
front_real(const char *option, const char *text, double lo, double hi)
{
	double v = 0;

	if (num_f64(text, lo, hi, &v) < 0)
		front_wrong("%s: %s", option, err_line());
	return v;
}

void
front_part(const char *option, const char *text, uint32_t *i, uint32_t *n)
{
	char tail;

	/* sscanf(3) would take a sign. */
	if (text[strspn(text, "0123456789/")] != 0 || sscanf(text, "%6" SCNu32 "/%6" SCNu32 "%c", i, n, &tail) != 2 ||
	    *i >= *n)
		front_wrong("%s: '%.64s' is not I/N with I below N, as in 0/2", option, text);
}

void
front_range(const char *option, char *text, uint32_t most, uint32_t *least, uint32_t *n)
{
	char *dots = strstr(text, "..");

	*n = (uint32_t)front_num(option, dots != NULL ? dots + 2 : text, 1, most);
	*least = 0;
	if (dots == NULL)
		return;
	*dots = 0;
	*least = (uint32_t)front_num(option, text, 1, *n);
	*dots = '.';
}

void
front_shape(const char *option, const char *text, uint32_t *c, uint32_t *h, uint32_t *w)
{
	char tail;

	if (text[strspn(text, "0123456789x,")] != 0 ||
	    (sscanf(text, "%5" SCNu32 "x%5" SCNu32 "x%5" SCNu32 "%c", c, h, w, &tail) != 3 &&
	    sscanf(text, "%5" SCNu32 ",%5" SCNu32 ",%5" SCNu32 "%c", c, h, w, &tail) != 3) || *c == 0 || *h == 0 ||
	    *w == 0)
		front_wrong("%s: '%.64s' is not CxHxW or C,H,W, as in 3x28x28", option, text);
}

void
front_address(const char *option, const char *text)
{
	char host[ADDR_TEXT], port[8];

	if (addr_split(text, host, port) < 0)
		front_wrong("%s: %s", option, err_line());
}

void
front_output(const char *option, const char *out, const char *const *input, size_t n)
{
	struct stat st;

	for (size_t i = 0; out != NULL && i < n; i++)
		if (input[i] != NULL && strcmp(input[i], "-") != 0 && stat(input[i], &st) == 0 &&
		    S_ISREG(st.st_mode) && io_is_same(out, input[i]))
			front_wrong("%s: %s is also an input, which would be lost; name another file", option,
			    input[i]);
}

void
front_warn(const char *thing, int e)
{
	write_message(thing, get_error_text(e));
	warnings++;
}

static void
write_formatted(bool consequence, const char *fmt, va_list ap)
{
	char text[1024];

	vsnprintf(text, sizeof(text), fmt, ap);
	write_line(consequence, NULL, text);
}

void
front_say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	write_formatted(false, fmt, ap);
	va_end(ap);
}

void
front_say_consequence(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	write_formatted(consequence_is_read(), fmt, ap);
	va_end(ap);
}

void
front_die(const char *thing, int e)
{
	fflush(stdout);
	write_line(e == ERR_PEER && failure == 0 && consequence_is_read(), thing, get_error_text(e));
	exit(failure != 0 ? failure : e == ERR_PEER ? FRONT_AGAIN : e == ERR_ARG ? FRONT_USAGE : FRONT_PARTIAL);
}

void
front_set_failure(int status)
{
	failure = status;
}

void
front_wrong(const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	write_message(front_option_from(), text);
	exit(failure != 0 ? failure : FRONT_USAGE);
}

static void
wipe_keys(void)
{
	explicit_bzero(keys, FRONT_KEYS * sizeof(*keys));	/* still mapped: other threads may run */
}

const uint8_t *
front_read_key(const char *path)
{
	static unsigned n;
	void *p;

	assert(n < FRONT_KEYS);
	if (n == 0) {
		front_must(path, secret_new(FRONT_KEYS * sizeof(*keys), &p));
		keys = p;
		atexit(wipe_keys);
	}
	front_wait_read(path);
	front_must(path, conn_key_read(path, keys[n]));
	front_wait_end();
	return keys[n++];
}

static int
open_signals(const sigset_t *set)
{
	int fd;

	sigprocmask(SIG_BLOCK, set, NULL);
	if ((fd = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK)) < 0)
		front_die("signals", err_sys("signalfd"));
	return fd;
}

int
front_stop_fd(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	signal(SIGPIPE, SIG_IGN);
	return open_signals(&set);
}

int
front_signal_fd(int signo)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signo);
	return open_signals(&set);
}

int
front_stopped(int stop_fd)
{
	struct signalfd_siginfo sig = { 0 };

	return read(stop_fd, &sig, sizeof(sig)) == sizeof(sig) ? 128 + (int)sig.ssi_signo : front_status();
}

void
front_check_ready(int fd)
{
	int flags = fd >= 0 ? fcntl(fd, F_GETFL) : O_WRONLY;

	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
		front_wrong("--ready-fd: descriptor %d is not open for writing; open it, as in %d>FILE", fd, fd);
}

void
front_ready(int fd, const char *where)
{
	if (fd < 0)
		return;
	/* If the process that waits for the address has ended, others may still know the address. */
	if (io_write(fd, where, strlen(where)) < 0 || io_write(fd, "\n", 1) < 0)
		front_say("--ready-fd: %s", err_line());
	if (fd > STDERR_FILENO)
		close(fd);
}

int
front_status(void)
{
	return warnings > 0 ? FRONT_PARTIAL : 0;
}

bool
front_log_lost(void)
{
	static bool lost;

	if (!lost && (fflush(stdout) != 0 || ferror(stdout))) {
		err_note(errno, "write");
		front_warn("standard output", ERR_SYS);
		lost = true;
	}
	return lost;
}

void
front_flush(void)
{
	if (front_log_lost())
		exit(FRONT_PARTIAL);
}
