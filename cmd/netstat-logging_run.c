/* netstat-logging_run - watches interfaces or a command, and writes rows and the summary. */
#include "netstat-logging_run.h"

#include "front.h"
#include "front_wait.h"

#include "base/clk.h"
#include "base/err.h"
#include "base/io.h"
#include "watch/mark.h"
#include "watch/nic.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define PIECE	65536	/* bytes of a log that are copied at once */

/* An interface or the command. */
struct counted {
	const char *name;
	unsigned index;			/* index of the interface, at the last reading */
	bool	 gone;
	struct traffic last;		/* counters at the last reading */
	uint64_t at_ns;			/* when the open period began */
	struct traffic open;		/* traffic of that period, up to the last reading */
	struct traffic_sum sum;		/* the periods before */
};

struct watch {
	const struct netstat_opt *o;
	char	 host[256], first[NIC_NAME];
	struct meter *meter;
	struct marker *marker;
	struct counted source[SOURCES];
	size_t	 sources;
	uint64_t begun_ns;
	int	 to;			/* descriptor of the output */
	int	 rows;			/* the same if rows are written, else -1 */
	int	 in;			/* descriptor of the log to filter, or -1 */
	int	 timer, end, signals;
	int	 status;		/* wait status of the command, or -1 */
	bool	 meter_over, stop;
};

/* Writes and empties the buffer.  If that fails, it exits, or if a command goes on, warns and returns false. */
static bool
write_out(const struct watch *w, int fd, const char *name, struct buf *b)
{
	const bool failed = b->n > 0 && io_write(fd, b->p, b->n) < 0;

	b->n = 0;
	if (failed && w->meter == NULL)
		front_die(name, ERR_SYS);
	if (failed)
		front_warn(name, ERR_SYS);
	return !failed;
}

static void
write_rows(struct watch *w, struct buf *b)
{
	const char *path = w->o->output;

	if (w->rows >= 0 && !write_out(w, w->rows, path != NULL ? path : "standard output", b))
		w->rows = -1;
}

/* Returns whether the source exists. */
static bool
read_counters(struct watch *w, struct counted *s, struct traffic *t, unsigned *index)
{
	struct nic_link link;
	int e;

	*index = 0;
	if (w->meter != NULL) {
		meter_read(w->meter, t);
		return true;
	}
	if ((e = nic_read(s->name, &link)) < 0)
		front_die(s->name, e);
	*t = link.traffic;
	*index = link.index;
	return e > 0;
}

/*
 * Adds what was counted since the last reading to the open period.  An interface may be removed, and come back with
 * another index and counters from 0.
 */
static void
read_source(struct watch *w, struct counted *s)
{
	static const struct traffic zero = { .wire = { TRAFFIC_NONE, TRAFFIC_NONE } };
	struct traffic now, t;
	unsigned index;

	if (!read_counters(w, s, &now, &index)) {
		if (!s->gone)
			front_warn(s->name, err_fail(ERR_PEER, "gone"));
		s->gone = true;
		return;
	}
	if (s->gone)
		front_say("%s: back", s->name);
	s->gone = false;
	t = traffic_since(index != s->index ? &zero : &s->last, &now);
	traffic_add(&s->open, &t);
	s->last = now;
	s->index = index;
}

static void
put_row(struct watch *w, const struct counted *s, const char *event, double seconds, const struct traffic *t,
    struct buf *out)
{
	struct traffic_row r = {
		.time_s = (double)(s->at_ns - w->begun_ns) / 1e9, .date_ns = clk_wall_ns(), .host = w->host,
		.interface = w->meter != NULL ? "command" : s->name, .event = event, .seconds = seconds, .traffic = *t,
	};
	int e = w->o->json ? traffic_json(&r, out) : traffic_put(&r, out);

	front_must(NULL, e);
}

static uint64_t
get_period_ns(const struct watch *w)
{
	return (uint64_t)(w->o->period_s * 1e9);
}

static uint64_t
count_periods(const struct watch *w, uint64_t at_ns)
{
	return (at_ns - w->begun_ns) / get_period_ns(w);
}

/*
 * Writes a period.  The incomplete one at the end is omitted if it is short and empty.  If the timer expires again
 * before a late reading, that reading has covered both periods, and the second has no row.
 */
static void
write_period_rows(struct watch *w, bool whole)
{
	struct buf out = { 0 };
	uint64_t at_ns;
	double seconds;
	bool empty;

	for (struct counted *s = w->source; s < w->source + w->sources; s++) {
		read_source(w, s);
		empty = s->open.bytes[TRAFFIC_RX] + s->open.bytes[TRAFFIC_TX] == 0;
		at_ns = clk_ns();
		seconds = (double)(at_ns - s->at_ns) / 1e9;
		if (s->gone && empty)
			continue;
		if (whole && count_periods(w, at_ns) == count_periods(w, s->at_ns))
			continue;
		if (!whole && seconds < w->o->period_s / 100 && empty)
			continue;
		s->at_ns = at_ns;
		traffic_add_period(&s->sum, &s->open, seconds, whole);
		put_row(w, s, "period", seconds, &s->open, &out);
		traffic_clear(&s->open);
	}
	write_rows(w, &out);
	buf_free(&out);
}

static void
write_end_rows(struct watch *w)
{
	struct buf out = { 0 };
	int e = 0;

	write_period_rows(w, false);
	for (struct counted *s = w->source; s < w->source + w->sources; s++)
		put_row(w, s, "end", s->sum.seconds, &s->sum.total, &out);
	write_rows(w, &out);
	out.n = 0;
	for (struct counted *s = w->source; s < w->source + w->sources && !w->o->quiet && e == 0; s++)
		e = traffic_summary(&s->sum, s->name, &out);
	front_must(NULL, e);
	write_out(w, STDERR_FILENO, "standard error", &out);
	buf_free(&out);
}

/* The traffic of all sources from the start to the last reading, for the marks. */
static struct traffic
sum_traffic(const struct watch *w)
{
	struct traffic sum = { .wire = { TRAFFIC_NONE, TRAFFIC_NONE } };

	for (const struct counted *s = w->source; s < w->source + w->sources; s++) {
		traffic_add(&sum, &s->sum.total);
		traffic_add(&sum, &s->open);
	}
	return sum;
}

/* At the end of the log, netstat-logging stops unless a command still runs.  That learns if nobody reads its log. */
static void
filter_log(struct watch *w)
{
	struct traffic now;
	struct buf out = { 0 };
	char piece[PIECE];
	ssize_t n;

	for (struct counted *s = w->source; s < w->source + w->sources; s++)
		read_source(w, s);
	now = sum_traffic(w);
	n = read(w->in, piece, sizeof(piece));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n < 0)
		front_die("the log", err_sys("read"));
	front_must(NULL, mark_copy(w->marker, piece, (size_t)n, &now, &out));
	if (!write_out(w, STDOUT_FILENO, "standard output", &out))
		n = 0;
	buf_free(&out);
	if (n == 0) {
		close(w->in);
		w->in = -1;
		w->stop = w->meter == NULL;
	}
}

/*
 * An interrupt from a terminal also reaches the command, or the writer of the log, and its end ends this process.  A
 * second interrupt ends it at once, as does any signal after the command has ended.
 */
static void
on_signal(struct watch *w)
{
	struct signalfd_siginfo s;
	static unsigned asked;
	bool waits;

	if (w->meter != NULL && !w->meter_over)
		w->meter_over = meter_done(w->meter, &w->status);
	waits = w->meter != NULL ? w->status < 0 : w->in >= 0;
	if (read(w->signals, &s, sizeof(s)) != sizeof(s))
		return;
	if (!waits || (w->meter == NULL && (s.ssi_signo == SIGTERM || asked++ > 0)))
		w->stop = true;
	else if (w->meter != NULL && (s.ssi_signo == SIGTERM || s.ssi_signo == SIGHUP))
		meter_signal(w->meter, (int)s.ssi_signo);
}

static void
run_event_loop(struct watch *w)
{
	enum { TIMER, END, SIGNALS, METER, IN, FDS };
	const struct pollfd none = { .fd = -1 };
	uint64_t times;

	while (!w->stop) {
		struct pollfd p[FDS] = {
			[TIMER] = { w->timer, POLLIN, 0 },
			[END] = { w->end, POLLIN, 0 },
			[SIGNALS] = { w->signals, POLLIN, 0 },
			[METER] = w->meter != NULL && !w->meter_over ? meter_poll(w->meter) : none,
			[IN] = { w->in, POLLIN, 0 },
		};

		if (poll(p, FDS, -1) < 0 && errno != EINTR)
			front_die(NULL, err_sys("poll"));
		if (p[TIMER].revents != 0 && read(w->timer, &times, sizeof(times)) == sizeof(times))
			write_period_rows(w, true);
		if (p[END].revents != 0)
			w->stop = true;
		if (p[SIGNALS].revents != 0)
			on_signal(w);
		if (p[METER].revents != 0)
			w->meter_over = meter_done(w->meter, &w->status);
		if (p[IN].revents != 0)
			filter_log(w);
		w->stop = w->stop || (w->meter_over && w->in < 0);
	}
}

static void
start_timers(struct watch *w)
{
	uint64_t period = get_period_ns(w), first = w->begun_ns + period;
	uint64_t last = w->begun_ns + (uint64_t)(w->o->duration_s * 1e9);
	struct itimerspec tick = {
		.it_interval = { (time_t)(period / 1000000000), (long)(period % 1000000000) },
		.it_value = { (time_t)(first / 1000000000), (long)(first % 1000000000) },
	}, once = { .it_value = { (time_t)(last / 1000000000), (long)(last % 1000000000) } };

	w->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	w->end = w->o->duration_s > 0 ? timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC) : -1;
	if (w->timer < 0 || timerfd_settime(w->timer, TFD_TIMER_ABSTIME, &tick, NULL) < 0 ||
	    (w->o->duration_s > 0 && (w->end < 0 || timerfd_settime(w->end, TFD_TIMER_ABSTIME, &once, NULL) < 0)))
		front_die(NULL, err_sys("a timer"));
}

/*
 * Shells start background processes with SIGINT ignored.  It ends a log all the same, as with vnstat(1).  With a
 * command a pipe that nobody reads is an error of writing.
 */
static void
block_signals(struct watch *w, sigset_t *before)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGTERM);
	if (w->o->argv == NULL)
		signal(SIGINT, SIG_DFL);
	sigprocmask(SIG_BLOCK, &set, before);
	if ((w->signals = signalfd(-1, &set, SFD_CLOEXEC)) < 0)
		front_die(NULL, err_sys("signalfd"));
	sigaddset(&set, SIGPIPE);
	if (w->o->argv != NULL)
		sigprocmask(SIG_BLOCK, &set, NULL);
}

static void
refuse_interface(const char *name)
{
	struct buf there = { 0 };
	int e = nic_names(&there);

	if (e < 0 || (e = buf_terminate(&there)) < 0)
		front_die(NULL, e);
	if (name != NULL)
		front_wrong("%s: no such interface; choose from %s", name, (char *)there.p);
	front_wrong("no default route; choose an interface with -i from %s", (char *)there.p);
}

static void
open_interfaces(struct watch *w)
{
	struct nic_link link;
	int e;

	for (size_t i = 0; i < w->o->interfaces; i++)
		w->source[w->sources++].name = w->o->interface[i];
	if (w->sources == 0) {
		if (nic_default(w->first) == 0)
			refuse_interface(NULL);
		w->source[w->sources++].name = w->first;
	}
	for (struct counted *s = w->source; s < w->source + w->sources; s++) {
		if ((e = nic_read(s->name, &link)) < 0)
			front_die(s->name, e);
		if (e == 0)
			refuse_interface(s->name);
		s->index = link.index;
		s->last = link.traffic;
		s->open.wire[TRAFFIC_RX] = s->open.wire[TRAFFIC_TX] = TRAFFIC_NONE;
		s->sum.total = s->open;
	}
}

static void
start_command(struct watch *w, const sigset_t *mask)
{
	struct meter_opt opt = { .argv = w->o->argv, .by = w->o->by, .out = -1, .mask = mask };
	int e, fd[2] = { -1, -1 };

	if (w->o->filter && pipe2(fd, O_CLOEXEC) < 0)
		front_die(NULL, err_sys("pipe"));
	opt.out = fd[1];
	if ((e = meter_start(&opt, &w->meter)) < 0) {
		int why = errno;

		if (if_nametoindex(w->o->argv[0]) > 0)
			front_wrong("%s: no such command; --interface %s logs that interface", w->o->argv[0],
			    w->o->argv[0]);
		err_within("%s", e == ERR_NOTSUP ? "its traffic cannot be counted" : "the command");
		front_warn(NULL, e);
		/* As env(1) and time(1) do. */
		exit(e != ERR_SYS ? FRONT_PARTIAL : why == ENOENT ? 127 : 126);
	}
	if (w->o->filter)
		close(fd[1]);
	w->in = fd[0];
	w->source[w->sources++].name = io_base_name(w->o->argv[0]);
	meter_read(w->meter, &w->source[0].last);
	traffic_clear(&w->source[0].last);
	w->source[0].sum.total = w->source[0].open = w->source[0].last;
}

/*
 * Opening a FIFO can block, so it happens before signals are blocked.  What the file has is lost only in open_rows(),
 * when the interfaces or the command are known to be there.
 */
static void
open_output(struct watch *w)
{
	const char *path = w->o->output;

	w->to = STDOUT_FILENO;
	if (path == NULL || strcmp(path, "-") == 0)
		return;
	front_wait_write(path);
	if ((w->to = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666)) < 0)
		front_die(path, io_create_failed(path));
	front_wait_end();
}

static void
open_rows(struct watch *w)
{
	const char *path = w->o->output, *by[] = { [METER_PACKETS] = "packets", [METER_CALLS] = "calls" };
	struct buf out = { 0 };
	struct stat st;
	int e;

	w->rows = -1;
	if (path == NULL && (w->o->filter || w->o->argv != NULL))
		return;
	w->rows = w->to;
	if (w->to != STDOUT_FILENO && fstat(w->to, &st) == 0 && S_ISREG(st.st_mode) && ftruncate(w->to, 0) < 0)
		front_die(path, err_sys("truncate"));
	if (w->o->json)
		return;
	e = buf_put_fmt(&out, "# tally %s tool=netstat-logging host=%s period_s=%g", TALLY_VERSION, w->host,
	    w->o->period_s);
	if (e == 0 && w->meter != NULL)
		e = buf_put_fmt(&out, " command=%s count=%s", w->source[0].name, by[meter_by(w->meter)]);
	for (size_t i = 0; i < w->sources && w->meter == NULL && e == 0; i++)
		e = buf_put_fmt(&out, "%s%s", i == 0 ? " interface=" : ",", w->source[i].name);
	if (e < 0 || (e = buf_put(&out, "\n", 1)) < 0 || (e = traffic_head(&out)) < 0)
		front_die(NULL, e);
	write_rows(w, &out);
	buf_free(&out);
}

/* A failure of the command has precedence over warnings here. */
static int
end_status(const struct watch *w)
{
	const char *missed = w->meter != NULL ? meter_missed(w->meter) : NULL;

	if (missed != NULL)
		front_warn(w->source[0].name, err_fail(ERR_ITEM, "%s", missed));
	if (w->meter == NULL || w->status == 0)
		return front_status();
	if (w->status < 0)
		return FRONT_PARTIAL;
	return WIFSIGNALED(w->status) ? 128 + WTERMSIG(w->status) : WEXITSTATUS(w->status);
}

int
netstat_run(const struct netstat_opt *o)
{
	struct watch *w = calloc(1, sizeof(*w));
	struct traffic now;
	sigset_t before;
	int status;

	if (w == NULL)
		front_die(NULL, err_nomem());
	w->o = o;
	w->in = -1;
	w->status = -1;
	gethostname(w->host, sizeof(w->host) - 1);
	open_output(w);
	block_signals(w, &before);
	if (o->argv != NULL)
		start_command(w, &before);
	else
		open_interfaces(w);
	open_rows(w);
	w->begun_ns = clk_ns();
	for (size_t i = 0; i < w->sources; i++)
		w->source[i].at_ns = w->begun_ns;
	if (o->filter) {
		now = sum_traffic(w);
		if (o->argv == NULL)
			w->in = STDIN_FILENO;
		if ((w->marker = mark_new(&now, o->marks ? &o->mark : NULL)) == NULL)
			front_die(NULL, err_nomem());
	}
	start_timers(w);
	run_event_loop(w);
	write_end_rows(w);
	status = end_status(w);
	mark_free(w->marker);
	meter_close(w->meter);
	free(w);
	return status;
}
