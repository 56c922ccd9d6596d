/*
 * launch_test - tests launch with old, silent and misbehaving agents.
 *
 * This program is also the agent; KIND in its environment selects the kind.
 */
#include "tap.h"

#include "base/err.h"
#include "base/frame.h"
#include "base/io.h"
#include "run/agent/agent.h"
#include "run/ctl.h"
#include "run/launcher/launch.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

static int
signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigdelset(&set, SIGPIPE);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Runs "true" as a scheduler, server and worker on one host with an agent of a kind; said gets the messages. */
static char said[4096];

static int
run(const char *kind, struct roster *roster)
{
	char *argv[] = { (char[]){ "true" }, NULL }, *none[] = { NULL };
	char self[4096];
	struct words rsh = { 0 };
	struct hosts h;
	size_t n = 0;
	int fd[2], null = open("/dev/null", O_WRONLY), sig = signals(), code;

	self[readlink("/proc/self/exe", self, sizeof(self) - 1)] = 0;
	words_add(&rsh, "env");
	words_add(&rsh, "KIND=%s", kind);
	hosts_parse("hosts", "far addr=127.0.0.1", 18, &h);
	roster_make(&h, true, 1, 1, roster);
	if (pipe(fd) < 0)
		return -1;
	code = launch_run(&(struct launch_opt){ .hosts = &h, .rsh = &rsh, .agent = self, .version = "1.0", .tool = "t",
	    .job = { .dmlc = true, .workers = 1, .servers = 1, .key = "", .dir = "/", .iface = "",
		.silence_ms = strcmp(kind, "mute") == 0 ? 1500 : 60000, .spool_kib = 1024, .env = none, .argv = argv,
		.server_argv = none, .each = none },
	    .start_s = 60, .grace_s = 1, .signals = sig, .out = null, .err = fd[1] }, roster);
	close(sig);
	close(null);
	close(fd[1]);
	if (io_read(fd[0], said, sizeof(said) - 1, &n) < 0)
		return -1;
	said[n] = 0;
	close(fd[0]);
	words_free(&rsh);
	hosts_free(&h);
	return code;
}

static void
hello(struct buf *b, uint32_t protocol, const char *version)
{
	struct buf text = { 0 };

	buf_put(b, CTL_MARK, strlen(CTL_MARK));
	ctl_put_u32(&text, protocol);
	ctl_put_text(&text, version);
	frame_put(b, CTL_HELLO, text.p, text.n);
	buf_free(&text);
}

static void
words(struct buf *b, enum ctl_type type, const uint32_t *word, size_t n)
{
	struct buf text = { 0 };

	for (size_t i = 0; i < n; i++)
		ctl_put_u32(&text, word[i]);
	frame_put(b, type, text.p, text.n);
	buf_free(&text);
}

/* Builds what an agent of a kind sends before it waits for the end of its input. */
static void
speak(const char *kind, struct buf *b)
{
	if (strcmp(kind, "newer") == 0) {
		hello(b, CTL_PROTOCOL + 1, "2.0");
		return;
	}
	hello(b, CTL_PROTOCOL, strcmp(kind, "other") == 0 ? "1.1" : "1.0");
	if (strcmp(kind, "twice") == 0)
		words(b, CTL_HELLO, (uint32_t[]){ CTL_PROTOCOL }, 1);
	if (strcmp(kind, "stranger") == 0)
		words(b, CTL_STARTED, (uint32_t[]){ 3, 1 }, 2);
	if (strcmp(kind, "short") == 0)
		words(b, CTL_STARTED, (uint32_t[]){ 0 }, 1);
	if (strcmp(kind, "huge") == 0)
		buf_put(b, "\377\377\377\377\1\0\0\0", 8);
	if (strcmp(kind, "order") == 0)
		words(b, CTL_JOB, NULL, 0);
	if (strcmp(kind, "undead") == 0)
		for (int i = 0; i < 2; i++)
			words(b, CTL_EXITED, (uint32_t[]){ 0, 0, 0, 0 }, 4);
	if (strcmp(kind, "cut") == 0)
		words(b, CTL_EXITED, (uint32_t[]){ 0, 1 << 8, 0 }, 3);
	if (strcmp(kind, "leaver") == 0)
		words(b, CTL_LEFT, (uint32_t[]){ 2, 0, 0, 0 }, 4);
	if (strcmp(kind, "back") == 0)
		words(b, CTL_STATE, (uint32_t[]){ 1, 1, 0, 0 }, 4);
	if (strcmp(kind, "ragged") == 0)
		words(b, CTL_LINES, (uint32_t[]){ 0, 1, 'x' }, 3);
}

static int
be_agent(const char *kind)
{
	struct buf b = { 0 };
	char c[256];

	if (strcmp(kind, "good") == 0)
		return agent_run(&(struct agent_opt){ .in = 0, .out = 1, .attach_fd = -1, .name = "", .version = "1.0",
		    .signals = signals(),
		    .bin = "/bin" });
	if (strcmp(kind, "gone") == 0)
		return 0;
	speak(kind, &b);
	if (io_write(1, b.p, b.n) < 0)
		return 1;
	buf_free(&b);
	while (read(0, c, sizeof(c)) > 0)
		;
	return 0;
}

/* Replaces a number of seconds of at least 2. */
static void
hide_number(char *line)
{
	char *p = line + strcspn(line, "23456789"), *end = p + strspn(p, "0123456789");

	if (end > p) {
		*p = '#';
		memmove(p + 1, end, strlen(end) + 1);
	}
}

int
main(int argc, char *argv[])
{
	static const struct {
		const char *kind, *line;
		int code;
	} bad[] = {
		{ "newer", "t: host far: has tally 2.0 (protocol 10), this host 1.0 (protocol 9)\n", 1 },
		{ "other", "t: host far: has tally 1.1 (protocol 9), this host 1.0 (protocol 9)\n", 1 },
		{ "gone", "t: host far: no agent answers: exit status 0\n", 1 },
		{ "mute", "t: host far: silent for # s\n", 75 },
		{ "twice", "t: host far: an unexpected or malformed HELLO message\n", 1 },
		{ "stranger", "t: host far: message 4 for an unknown process\n", 1 },
		{ "short", "t: host far: message 4 is cut short\n", 1 },
		{ "huge", "t: host far: a frame of 4294967295 bytes is longer than 1048576\n", 1 },
		{ "order", "t: host far: message 10 is not an agent's\n", 1 },
		{ "cut", "t: host far: message 5 is cut short\n", 1 },
		{ "undead", "t: scheduler on far: ended before it listened\nt: host far: a second end of a process\n", 1 },
		{ "leaver", "t: host far: a process that cannot leave has left\n", 1 },
		{ "back", "t: host far: an unexpected STATE message\n", 1 },
		{ "ragged", "t: host far: a malformed LINES message, or more than its credit\n", 1 },
	};
	struct roster r;

	if (argc > 1 && strcmp(argv[1], "--agent") == 0)
		return be_agent(getenv("KIND"));
	if (getenv("EMULATOR") != NULL && *getenv("EMULATOR") != 0) {
		skip("agents", "the kernel cannot start this program again without the emulator");
		return done();
	}
	is(run("good", &r), 0, "a job with a good agent exits with 0");
	is_str(said, "", "a good agent causes no message");
	ok(r.n == 3 && r.m[0].state == ROSTER_ENDED && r.m[1].state == ROSTER_ENDED && r.m[2].pid != 0,
	    "the roster knows how each process ended");
	roster_free(&r);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		is(run(bad[i].kind, &r), bad[i].code, "the exit status with an agent of kind %s", bad[i].kind);
		if (strcmp(bad[i].kind, "mute") == 0)
			hide_number(said);
		is_str(said, bad[i].line, "the agent's fault is reported in a line");
		ok(r.m[2].state == ROSTER_LOST, "the agent's processes are lost");
		roster_free(&r);
	}
	return done();
}
