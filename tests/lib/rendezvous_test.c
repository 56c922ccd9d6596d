/* rendezvous_test - does meet keep its header's word?  tests/flow/tracker.t has the processes meet. */
#include "tap.h"

#include "base/err.h"
#include "run/rendezvous/rendezvous.h"

#include <stdlib.h>
#include <string.h>

static void
bad(const char *text)
{
	struct rendezvous_word w;

	is(rendezvous_parse(text, strlen(text), &w), ERR_FORMAT, "refused: %.60s", text);
}

static void
test_parse(void)
{
	static const char join[] = "meet 1 tally 0.1 role server rank 3 workers 2 servers 4";
	static const char any[] = "meet 1 tally 0.1 role worker rank any workers 2 servers 4";
	static const char at[] = "at [::1]:80";
	static char longest[1000];
	struct rendezvous_word w;

	is(rendezvous_parse(join, strlen(join), &w), 0, "who joins");
	ok(w.join && w.role == RENDEZVOUS_SERVER && w.rank == 3 && w.workers == 2 && w.servers == 4, "with its numbers");
	is_str(w.tally, "0.1", "and version");
	is(rendezvous_parse(any, strlen(any), &w), 0, "who joins without a rank");
	ok(w.join && w.role == RENDEZVOUS_WORKER && w.rank == RENDEZVOUS_ANY, "has any");
	is(rendezvous_parse(at, strlen(at), &w), 0, "who listens");
	ok(!w.join && strcmp(w.at, "[::1]:80") == 0, "where");
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
	is(rendezvous_env(&e), 0, "an environment that says nothing");
	is(e.role, RENDEZVOUS_NONE, "gives no role");
	setenv("DMLC_ROLE", "server", 1);
	is(rendezvous_env(&e), ERR_ARG, "a role alone is not enough");
	setenv("DMLC_PS_ROOT_URI", "::1", 1);
	setenv("DMLC_PS_ROOT_PORT", "9091", 1);
	setenv("DMLC_NUM_WORKER", "3", 1);
	setenv("DMLC_NUM_SERVER", "2", 1);
	is(rendezvous_env(&e), 0, "a server's");
	ok(e.role == RENDEZVOUS_SERVER && e.workers == 3 && e.servers == 2 && e.rank == RENDEZVOUS_ANY && e.host == NULL, "is read");
	is_str(e.at, "[::1]:9091", "with where to meet");
	setenv("DMLC_TASK_ID", "1", 1);
	ok(rendezvous_env(&e) == 0 && e.rank == 1, "DMLC_TASK_ID is the rank");
	setenv("DMLC_SERVER_ID", "0", 1);
	ok(rendezvous_env(&e) == 0 && e.rank == 0, "but rather DMLC_SERVER_ID");
	setenv("DMLC_ROLE", "worker", 1);
	ok(rendezvous_env(&e) == 0 && e.rank == 1, "which is not a worker's");
	setenv("DMLC_WORKER_ID", "3", 1);
	is(rendezvous_env(&e), ERR_ARG, "a rank beyond the job is refused");
	setenv("DMLC_NUM_SERVER", "0", 1);
	is(rendezvous_env(&e), ERR_ARG, "so is a job without servers");
}

int
main(void)
{
	test_parse();
	test_env();
	return done();
}
