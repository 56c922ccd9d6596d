/* job_record_test - does record keep its header's word, and do ctl's payloads of a return? */
#include "tap.h"

#include "base/err.h"
#include "run/launcher/job_record.h"

#include <stdlib.h>

static void
test_bytes(void)
{
	struct job_record_host host[] = { { .log = 5000000000 }, { .ended = true, .log = 7 }, { .lost = true } };
	struct job_record_member m[] = { { .state = ROSTER_RUNNING, .pid = 9, .where = "h:1", .out = 1, .err = 1ull << 40 },
		{ .state = ROSTER_ENDED, .status = 3 << 8, .ms = 1500, .peak_kib = 4096 } };
	struct job_record r = { .id = "00112233445566778899aabbccddeeff", .attempt = 2, .gone = true, .termed = true, .code = 75,
	    .signo = 15, .out = 123, .err = 456, .host = host, .hosts = 3, .m = m, .n = 2, .signal = { { CTL_ALL, 15 } }, .signals = 1 };
	struct buf b = { 0 };
	struct job_record k;
	int bad = 0;

	is(job_record_put(&r, &b), 0, "a record becomes bytes");
	is(job_record_get(&k, b.p, b.n), 0, "and a record again");
	is_str(k.id, r.id, "its id");
	ok(k.attempt == 2 && k.gone && k.termed && !k.stopped && !k.asked && !k.killed && k.code == 75 && k.signo == 15, "where it was");
	ok(k.out == 123 && k.err == 456 && k.hosts == 3 && k.n == 2, "how much there is");
	ok(k.host[0].log == 5000000000 && !k.host[0].ended && k.host[1].ended && k.host[2].lost && !k.host[2].ended, "hosts");
	ok(k.m[0].state == ROSTER_RUNNING && k.m[0].pid == 9 && k.m[0].err == 1ull << 40 && strcmp(k.m[0].where, "h:1") == 0 &&
	    k.m[1].status == 3 << 8 && k.m[1].ms == 1500 && k.m[1].peak_kib == 4096, "processes");
	ok(k.signals == 1 && k.signal[0].whom == CTL_ALL && k.signal[0].signo == 15, "signals");
	job_record_free(&k);
	for (size_t n = 0; n < b.n; n++)
		bad += job_record_get(&k, b.p, n) != ERR_FORMAT;
	is(bad, 0, "cut anywhere it is refused");
	buf_put(&b, "", 1);
	is(job_record_get(&k, b.p, b.n), ERR_FORMAT, "with a byte too many as well");
	buf_free(&b);
}

static void
test_return(void)
{
	const struct ctl_resume r = { .got = 5000000000, .done = 4999999999 };
	const struct ctl_back k = { .job = 1, .signals = 2, .waited_ms = 3 }, mad = { .go = 1 };
	struct ctl_resume r2;
	struct ctl_back k2;
	struct buf b = { 0 };

	ctl_put_resume(&b, &r);
	ok(ctl_get_resume(&r2, b.p, b.n) == 0 && r2.got == r.got && r2.done == r.done, "a return is read as it was said");
	is(ctl_get_resume(&r2, b.p, b.n - 1), ERR_FORMAT, "cut it is refused");
	le_put32(b.p + 12, 9);
	is(ctl_get_resume(&r2, b.p, b.n), ERR_FORMAT, "and so is one that is done with more than it got");
	b.n = 0;
	ctl_put_back(&b, &k);
	ok(ctl_get_back(&k2, b.p, b.n) == 0 && k2.job == 1 && k2.go == 0 && k2.signals == 2 && k2.waited_ms == 3, "so is the answer");
	b.n = 0;
	ctl_put_back(&b, &mad);
	is(ctl_get_back(&k2, b.p, b.n), ERR_FORMAT, "but not one without sense");
	buf_free(&b);
}

int
main(void)
{
	test_bytes();
	test_return();
	return done();
}
