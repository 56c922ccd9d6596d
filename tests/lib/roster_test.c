/* roster_test - tests roster against its header. */
#include "tap.h"

#include "base/err.h"
#include "run/launcher/roster.h"

#include <signal.h>
#include <stdlib.h>

static struct roster
a_roster(const char *hosts, bool dmlc, uint32_t servers, uint32_t workers)
{
	struct hosts h;
	struct roster r;

	hosts_parse("hosts", hosts, strlen(hosts), &h);
	roster_make(&h, dmlc, servers, workers, &r);
	hosts_free(&h);
	return r;
}

static void
test_places(void)
{
	struct roster r = a_roster("a\nb\nc\n", false, 2, 3);
	static const uint32_t host[] = { 0, 1, 2, 0, 1 };
	int good = 1;
	char name[32], *go;

	for (uint32_t i = 0; i < 5; i++)
		good &= r.m[i].host == host[i];
	ok(good && r.n == 5 && r.hosts == 3 && r.nlisteners == 2,
	    "processes are servers, then workers, over the hosts");
	roster_name(&r.m[4], name);
	is_str(name, "worker 2", "a name has role and rank");
	ok(roster_unknown(&r) == &r.m[0], "the first server's address is unknown");
	strcpy(r.m[0].addr, "a:1");
	ok(roster_unknown(&r) == &r.m[1], "the second server's address is unknown after the first is known");
	strcpy(r.m[1].addr, "b:2");
	ok(roster_unknown(&r) == NULL, "all addresses are known in the end");
	go = roster_addrs(&r);
	is_str(go, "a:1,b:2", "addresses are listed by rank");
	free(go);
	roster_free(&r);

	r = a_roster("a\nb\nc\n", false, 1, 1);
	is(r.hosts, 2, "a host without a process does not count");
	roster_free(&r);
	r = a_roster("a\nb\n", true, 1, 1);
	ok(r.n == 3 && r.nlisteners == 1 && r.m[0].child.role == JOB_SCHEDULER && r.m[1].host == 0 && r.m[2].host == 1,
	    "a scheduler does not move other processes");
	roster_free(&r);
	r = a_roster("a\nb\n", false, 0, 2);
	ok(r.n == 2 && r.nlisteners == 2 && r.m[1].child.role == JOB_WORKER && roster_unknown(&r) == &r.m[0],
	    "without servers the workers listen");
	roster_free(&r);
	r = a_roster("a\n", false, 0, 1);
	ok(r.n == 1 && r.nlisteners == 0, "a single worker without servers does not listen");
	roster_free(&r);
	r = a_roster("a\n", true, 0, 2);
	ok(r.n == 2 && r.nlisteners == 0 && roster_unknown(&r) == NULL, "a job without servers has no scheduler");
	roster_free(&r);
}

/* Returns the job's exit status if processes end with these statuses, and all get SIGTERM after `termed_after` of them. */
static int
code_of(const int *status, int n, int termed_after)
{
	struct roster r = a_roster("a\n", false, 2, 2);
	int code;

	for (int i = 0; i < n; i++) {
		r.termed = i >= termed_after;
		roster_end(&r, &r.m[i], status[i], 1);
	}
	code = r.code;
	roster_free(&r);
	return code;
}

static void
test_codes(void)
{
	char how[64];

	is(code_of((int[]){ 0, 0, 0, 0 }, 4, 9), 0, "a job without failures exits with 0");
	is(code_of((int[]){ 0, 3 << 8, 4 << 8 }, 3, 9), 3, "the first failure is the job's status");
	is(code_of((int[]){ 9 }, 1, 9), 137, "a signal gives 128 and its number");
	is(code_of((int[]){ 75 << 8, 9 }, 2, 1), 137, "a later cause replaces the status of a lost peer");
	is(code_of((int[]){ 75 << 8, 15 }, 2, 1), 75, "our own SIGTERM does not replace it");
	is(code_of((int[]){ 3 << 8, 75 << 8 }, 2, 1), 3, "a later lost peer does not replace the first failure");
	is(code_of((int[]){ 15 }, 1, 9), 143, "another's SIGTERM is a failure");
	is(roster_code(5 << 8), 5, "roster_code returns an exit status");
	roster_end_text(5 << 8, how);
	is_str(how, "exit status 5", "roster_end_text describes an exit status");
	roster_end_text(SIGKILL, how);
	is_str(how, "signal 9 (Killed)", "roster_end_text describes a signal");
}

int
main(void)
{
	struct roster r;

	test_places();
	test_codes();
	r = a_roster("a\n", false, 1, 2);
	ok(roster_unfinished(&r) == &r.m[2], "roster_unfinished returns a worker first");
	r.m[2].state = ROSTER_ENDED;
	r.m[1].state = ROSTER_LOST;
	ok(roster_unfinished(&r) == &r.m[0], "roster_unfinished then returns a server");
	r.m[0].state = ROSTER_ENDED;
	ok(roster_unfinished(&r) == NULL, "roster_unfinished returns NULL when all have ended");
	roster_free(&r);
	r = a_roster("a\n", false, 1, 3);
	r.workers = 1;
	ok(!roster_reserve(&r, &r.m[0]) && !roster_reserve(&r, &r.m[1]) && roster_reserve(&r, &r.m[2]),
	    "workers above the number of the job are in reserve");
	r.m[0].pid = r.m[1].pid = 1;
	ok(roster_started(&r), "workers in reserve need not be started");
	r.m[0].state = r.m[1].state = ROSTER_ENDED;
	ok(roster_unfinished(&r) == NULL, "workers in reserve need not end");
	r.m[3].state = ROSTER_RUNNING;
	ok(roster_unfinished(&r) == &r.m[3], "one that leaves has to end");
	roster_free(&r);
	return done();
}
