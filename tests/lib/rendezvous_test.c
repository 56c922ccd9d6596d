/* rendezvous_test - tests the messages and the environment of rendezvous; tests/flow/tracker.t runs whole jobs. */
#include "lib/crowd.h"
#include "tap.h"

#include "base/err.h"
#include "run/rendezvous/rendezvous.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

static void
bad(const char *text)
{
	struct rendezvous_message w;

	is(rendezvous_parse(text, strlen(text), &w), ERR_FORMAT, "a malformed message is refused: %.60s", text);
}

static void
test_parse(void)
{
	static const char join[] = "meet 1 tally 0.1 role server rank 3 workers 2 servers 4";
	static const char any[] = "meet 1 tally 0.1 role worker rank any workers 2 servers 4";
	static const char at[] = "at [::1]:80";
	static char longest[1000];
	struct rendezvous_message w;

	is(rendezvous_parse(join, strlen(join), &w), 0, "a message to join is read");
	ok(w.join && w.role == RENDEZVOUS_SERVER && w.rank == 3 && w.workers == 2 && w.servers == 4,
	    "the message has role, rank and sizes");
	is_str(w.tally, "0.1", "the message has the version");
	is(rendezvous_parse(any, strlen(any), &w), 0, "a message to join without a rank is read");
	ok(w.join && w.role == RENDEZVOUS_WORKER && w.rank == RENDEZVOUS_ANY, "the rank of that message is RENDEZVOUS_ANY");
	is(rendezvous_parse(at, strlen(at), &w), 0, "a server's address message is read");
	ok(!w.join && strcmp(w.at, "[::1]:80") == 0, "the message has the address");
	bad("");
	bad("at ");
	bad("at nowhere");
	bad("at a:1,b:2");
	bad("at a:1 b");
	bad("meet 2 tally 0.1 role server rank 3 workers 2 servers 4");
	bad("meet 1 tally 0.1 role king rank 3 workers 2 servers 4");
	bad("meet 1 tally 0.1 role server rank -1 workers 2 servers 4");
	bad("meet 1 tally 0.1 role server rank 3 workers 2 servers 4 and");
	bad("meet 1 tally 0.1 role server rank 3 workers 2");
	memset(longest, 'a', sizeof(longest) - 1);
	bad(longest);
	memcpy(longest, "at ", 3);
	bad(longest);
}

static void
test_env(void)
{
	struct rendezvous_env e;

	unsetenv("DMLC_ROLE");
	is(rendezvous_env(&e), 0, "an environment without DMLC_ROLE is valid");
	is(e.role, RENDEZVOUS_NONE, "an environment without DMLC_ROLE gives no role");
	setenv("DMLC_ROLE", "server", 1);
	is(rendezvous_env(&e), ERR_ARG, "DMLC_ROLE alone is refused");
	setenv("DMLC_PS_ROOT_URI", "::1", 1);
	setenv("DMLC_PS_ROOT_PORT", "9091", 1);
	setenv("DMLC_NUM_WORKER", "3", 1);
	setenv("DMLC_NUM_SERVER", "2", 1);
	is(rendezvous_env(&e), 0, "a server's environment is valid");
	ok(e.role == RENDEZVOUS_SERVER && e.workers == 3 && e.servers == 2 && e.rank == RENDEZVOUS_ANY && e.host == NULL,
	    "the server's environment gives its values");
	is_str(e.at, "[::1]:9091", "the scheduler's IPv6 address is bracketed");
	setenv("DMLC_TASK_ID", "1", 1);
	ok(rendezvous_env(&e) == 0 && e.rank == 1, "DMLC_TASK_ID is the rank");
	setenv("DMLC_SERVER_ID", "0", 1);
	ok(rendezvous_env(&e) == 0 && e.rank == 0, "DMLC_SERVER_ID takes precedence over DMLC_TASK_ID");
	setenv("DMLC_ROLE", "worker", 1);
	ok(rendezvous_env(&e) == 0 && e.rank == 1, "DMLC_SERVER_ID is ignored for a worker");
	setenv("DMLC_WORKER_ID", "3", 1);
	is(rendezvous_env(&e), ERR_ARG, "a rank outside the job is refused");
	setenv("DMLC_NUM_SERVER", "0", 1);
	is(rendezvous_env(&e), ERR_ARG, "a job without servers is refused");
}

static void
say_line(void *arg, const char *line)
{
	(void)arg, (void)line;
}

static void *
run_scheduler(void *arg)
{
	is(rendezvous_run(arg), ERR_STOP, "a scheduler ends on request: %s", err_line());
	return arg;
}

/* Whether somebody listens there before long. */
static bool
is_there(const char *at)
{
	bool there = false;
	int fd;

	for (int i = 0; i < CROWD_MS && !there; i++) {
		if (addr_dial(at, &fd) < 0)
			return false;
		there = poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, CROWD_MS) == 1 && write(fd, "", 0) == 0;
		close(fd);
		if (!there)
			poll(NULL, 0, 1);
	}
	return there;
}

static void
test_crowd(void)
{
	static const uint8_t key[CONN_KEY] = { 1 };
	struct rendezvous_env env = { .workers = 1, .servers = 1 };
	struct rendezvous_opt o = { .env = &env, .key = key, .stop_fd = eventfd(0, EFD_CLOEXEC), .say = say_line };
	pthread_t thread;
	int fd = -1;

	addr_listen("127.0.0.1:0", &fd, env.at);
	close(fd);
	pthread_create(&thread, NULL, run_scheduler, &o);
	ok(is_there(env.at), "a scheduler listens");
	ok(crowd_lets_in(env.at, key, CONN_MEMBER, 200),
	    "a member that is slow to answer gets in beside connections from its own address");
	(void)!write(o.stop_fd, &(uint64_t){ 1 }, 8);
	pthread_join(thread, NULL);
	close(o.stop_fd);
}

int
main(void)
{
	test_parse();
	test_env();
	test_crowd();
	return done();
}
