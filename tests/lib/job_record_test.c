/* job_record_test - tests the records of detached jobs, and ctl's RESUME and STATE payloads. */
#include "tap.h"

#include "base/err.h"
#include "run/launcher/job_record.h"

#include <stdlib.h>

static void
test_bytes(void)
{
	struct job_record_host host[] = { { .log = 5000000000 }, { .ended = true, .log = 7 }, { .lost = true } };
	struct job_record_member m[] = { { .state = ROSTER_RUNNING, .pid = 9, .addr = "h:1", .out = 1, .err = 1ull << 40 },
		{ .state = ROSTER_ENDED, .status = 3 << 8, .ms = 1500, .peak_kib = 4096 } };
	struct job_record r = { .id = "00112233445566778899aabbccddeeff", .attempt = 2, .started = true, .termed = true, .code = 75,
	    .signo = 15, .elastic = 2, .workers = 3,
	    .out = 123, .err = 456, .host = host, .hosts = 3, .m = m, .n = 2, .signal = { { CTL_ALL, 15 } }, .signals = 1 };
	struct buf b = { 0 };
	struct job_record k;
	int bad = 0;

	is(job_record_put(&r, &b), 0, "a record is written");
	is(job_record_get(b.p, b.n, &k), 0, "the bytes are read back");
	is_str(k.id, r.id, "the id is kept");
	ok(k.attempt == 2 && k.started && k.termed && !k.stopped && !k.asked && !k.killed && k.code == 75 && k.signo == 15 &&
	    k.elastic == 2 && k.workers == 3,
	    "the job's state is kept");
	ok(k.out == 123 && k.err == 456 && k.hosts == 3 && k.n == 2, "sizes and counts are kept");
	ok(k.host[0].log == 5000000000 && !k.host[0].ended && k.host[1].ended && k.host[2].lost && !k.host[2].ended,
	    "hosts are kept");
	ok(k.m[0].state == ROSTER_RUNNING && k.m[0].pid == 9 && k.m[0].err == 1ull << 40 && strcmp(k.m[0].addr, "h:1") == 0 &&
	    k.m[1].status == 3 << 8 && k.m[1].ms == 1500 && k.m[1].peak_kib == 4096, "processes are kept");
	ok(k.signals == 1 && k.signal[0].whom == CTL_ALL && k.signal[0].signo == 15, "signals are kept");
	job_record_free(&k);
	for (size_t n = 0; n < b.n; n++)
		bad += job_record_get(b.p, n, &k) != ERR_FORMAT;
	is(bad, 0, "a record truncated anywhere is refused");
	buf_put(&b, "", 1);
	is(job_record_get(b.p, b.n, &k), ERR_FORMAT, "a record with a byte too many is refused");
	b.p[strlen("tally job\n")]++;
	is(job_record_get(b.p, b.n - 1, &k), ERR_FORMAT, "the record of another version is refused");
	b.p[strlen("tally job\n")]--;
	is(job_record_get(b.p, b.n - 1, &k), 0, "the record of this version is read");
	job_record_free(&k);
	buf_free(&b);
}

static void
test_return(void)
{
	const struct ctl_resume r = { .received = 5000000000, .credited = 4999999999 };
	const struct ctl_state k = { .job = 1, .signals = 2, .waited_ms = 3 }, mad = { .go = 1 };
	struct ctl_resume r2;
	struct ctl_state k2;
	struct buf b = { 0 };

	ctl_put_resume(&b, &r);
	ok(ctl_get_resume(b.p, b.n, &r2) == 0 && r2.received == r.received && r2.credited == r.credited,
	    "RESUME is read as it was written");
	is(ctl_get_resume(b.p, b.n - 1, &r2), ERR_FORMAT, "a truncated RESUME is refused");
	le_put32(b.p + 12, 9);
	is(ctl_get_resume(b.p, b.n, &r2), ERR_FORMAT, "a RESUME with more credited than received is refused");
	b.n = 0;
	ctl_put_state(&b, &k);
	ok(ctl_get_state(b.p, b.n, &k2) == 0 && k2.job == 1 && k2.go == 0 && k2.signals == 2 && k2.waited_ms == 3,
	    "STATE is read as it was written");
	b.n = 0;
	ctl_put_state(&b, &mad);
	is(ctl_get_state(b.p, b.n, &k2), ERR_FORMAT, "a STATE with GO before JOB is refused");
	buf_free(&b);
}

int
main(void)
{
	test_bytes();
	test_return();
	return done();
}
