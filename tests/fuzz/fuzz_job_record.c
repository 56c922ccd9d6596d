/* fuzz_job_record - any bytes as a job's record: no crash, no memory without a bound, and what is taken can be said again. */
#include "fuzz/mutate.h"
#include "base/err.h"
#include "run/launcher/job_record.h"

#include <stdlib.h>
#include <string.h>

/* A record of a job with a host and a process, from which others are made. */
static int
read_or_make(const uint8_t *p, size_t n, struct job_record *r)
{
	if (job_record_get(p, n, r) == 0)
		return 0;
	*r = (struct job_record){ .id = "0123456789abcdef0123456789abcdef", .hosts = 1, .n = 1,
	    .host = calloc(1, sizeof(*r->host)), .m = calloc(1, sizeof(*r->m)) };
	return r->host != NULL && r->m != NULL ? 0 : ERR_NOMEM;
}

static void
change_lists(struct rng *c, struct job_record *r)
{
	if (rng_below(c, 2) && (r->host = realloc(r->host, (r->hosts + 2) * sizeof(*r->host))) != NULL)
		mutate_list(c, r->host, sizeof(*r->host), &r->hosts, r->hosts + 1);
	if (rng_below(c, 2) && (r->m = realloc(r->m, (r->n + 2) * sizeof(*r->m))) != NULL)
		mutate_list(c, r->m, sizeof(*r->m), &r->n, r->n + 1);
	if (rng_below(c, 4) == 0 && r->signals < JOB_RECORD_SIGNALS)
		r->signal[r->signals++] = (struct job_record_signal){ rng_below(c, 2) ? CTL_ALL : CTL_WORKERS,
		    1 + (uint32_t)rng_below(c, 64) };
	mutate_list(c, r->signal, sizeof(r->signal[0]), &r->signals, JOB_RECORD_SIGNALS);
}

static void
change_process(struct rng *c, struct job_record_member *m)
{
	static const size_t lengths[] = { 0, 1, 7, ROSTER_ADDR - 1 };

	m->state = (enum roster_state)rng_below(c, ROSTER_LOST + 2);
	m->pid = (uint32_t)mutate_number(c, m->pid);
	m->out = mutate_number(c, m->out);
	memset(m->addr, 'h', ROSTER_ADDR);
	m->addr[lengths[rng_below(c, 4)]] = 0;
}

static void
change_head(struct rng *c, struct job_record *r)
{
	switch (rng_below(c, 7)) {
	case 0: r->attempt = (uint32_t)mutate_number(c, r->attempt); return;
	case 1: r->code = (uint32_t)mutate_number(c, r->code) & 511; return;
	case 2: r->signo = (uint32_t)rng_below(c, 80); return;
	case 3: r->workers = (uint32_t)mutate_number(c, r->workers); return;
	case 4: r->out = mutate_number(c, r->out); return;
	case 5: r->killed = !r->killed; return;
	default: r->id[rng_below(c, JOB_RECORD_ID)] = "0f9ag"[rng_below(c, 5)]; return;
	}
}

/* The counts and lengths of a record are what job_record_put() writes for its lists and texts. */
size_t
LLVMFuzzerCustomMutator(uint8_t *p, size_t n, size_t room, unsigned seed)
{
	struct rng c = rng_start(seed, 0, 0);
	struct buf b = { 0 };
	struct job_record r;

	if (rng_below(&c, 4) == 0)
		return mutate_bytes(p, n, room);
	if (read_or_make(p, n, &r) < 0)
		abort();
	change_lists(&c, &r);
	if (r.hosts > 0 && rng_below(&c, 2))
		r.host[rng_below(&c, r.hosts)] = (struct job_record_host){ rng_below(&c, 2), rng_below(&c, 2), rng_u64(&c) };
	if (r.n > 0 && rng_below(&c, 2))
		change_process(&c, &r.m[rng_below(&c, r.n)]);
	change_head(&c, &r);
	if (job_record_put(&r, &b) < 0)
		abort();
	if (b.n <= room) {
		n = b.n;
		memcpy(p, b.p, n);
	}
	buf_free(&b);
	job_record_free(&r);
	return rng_below(&c, 8) == 0 ? mutate_bytes(p, n, room) : n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct buf b = { 0 };
	struct job_record r;

	if (job_record_get(p, n, &r) < 0)
		return 0;
	if (job_record_put(&r, &b) < 0 || b.n != n || memcmp(b.p, p, n) != 0)
		abort();
	buf_free(&b);
	job_record_free(&r);
	return 0;
}
