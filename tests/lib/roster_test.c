/* roster_test - does roster keep its header's word? */
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

	hosts_parse(&h, "hosts", hosts, strlen(hosts));
	roster_make(&r, &h, dmlc, servers, workers);
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
	ok(good && r.n == 5 && r.hosts == 3 && r.first == 2, "servers first, then workers, over the hosts");
	roster_name(&r.m[4], name);
	is_str(name, "worker 2", "names");
	ok(roster_unknown(&r) == &r.m[0], "the first server is waited for");
	strcpy(r.m[0].where, "a:1");
	ok(roster_unknown(&r) == &r.m[1], "then the second");
	strcpy(r.m[1].where, "b:2");
	ok(roster_unknown(&r) == NULL, "then none");
	go = roster_go(&r);
	is_str(go, "a:1,b:2", "addresses by rank");
	free(go);
	roster_free(&r);

	r = a_roster("a\nb\nc\n", false, 1, 1);
	is(r.hosts, 2, "a host without a process is not called");
	roster_free(&r);
	r = a_roster("a\nb\n", true, 1, 1);
	ok(r.n == 3 && r.first == 1 && r.m[0].what.role == JOB_SCHEDULER && r.m[1].host == 0 && r.m[2].host == 1,
	    "a scheduler moves nobody");
	roster_free(&r);
	r = a_roster("a\n", true, 0, 2);
	ok(r.n == 2 && r.first == 0 && roster_unknown(&r) == NULL, "without servers there is none");
	roster_free(&r);
}

/* The exit status of a job whose processes end so, in this order, SIGTERM sent to all after the first so many. */
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

	is(code_of((int[]){ 0, 0, 0, 0 }, 4, 9), 0, "all well");
	is(code_of((int[]){ 0, 3 << 8, 4 << 8 }, 3, 9), 3, "the first failure counts");
	is(code_of((int[]){ 9 }, 1, 9), 137, "a signal is 128 and its number");
	is(code_of((int[]){ 75 << 8, 9 }, 2, 1), 137, "a cause counts before the lost peer it was for others");
	is(code_of((int[]){ 75 << 8, 15 }, 2, 1), 75, "our own SIGTERM is no cause");
	is(code_of((int[]){ 3 << 8, 75 << 8 }, 2, 1), 3, "nor is a lost peer later");
	is(code_of((int[]){ 15 }, 1, 9), 143, "another's SIGTERM is");
	is(roster_code(5 << 8), 5, "an exit status");
	roster_how(5 << 8, how);
	is_str(how, "exit status 5", "in words");
	roster_how(SIGKILL, how);
	is_str(how, "signal 9 (Killed)", "a signal in words");
}

int
main(void)
{
	struct roster r;

	test_places();
	test_codes();
	r = a_roster("a\n", false, 1, 2);
	ok(roster_left(&r) == &r.m[2], "workers are named first of those left");
	r.m[2].state = ROSTER_ENDED;
	r.m[1].state = ROSTER_LOST;
	ok(roster_left(&r) == &r.m[0], "then servers");
	r.m[0].state = ROSTER_ENDED;
	ok(roster_left(&r) == NULL, "then nobody");
	roster_free(&r);
	return done();
}
