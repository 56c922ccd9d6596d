/* job_record - the saved state of a detached job, from which another launcher takes it over. */
#include "run/launcher/job_record.h"

#include "base/err.h"

#include <signal.h>
#include <stdlib.h>

static const char magic[] = "tally job\n";

#define MAGIC	(sizeof(magic) - 1)
#define OF_HOST	 12u	/* least bytes of an element */
#define OF_MEMBER 41u
#define OF_SIGNAL 8u

enum { GONE = 1, STOPPED = 2, ASKED = 4, TERMED = 8, KILLED = 16, FLAGS = 31 };

static int
put_record_head(const struct job_record *r, struct buf *b)
{
	uint32_t flags = (r->started ? GONE : 0) | (r->stopped ? STOPPED : 0) | (r->asked ? ASKED : 0) |
	    (r->termed ? TERMED : 0) | (r->killed ? KILLED : 0);

	ERR_TRY(buf_put(b, magic, MAGIC));
	ERR_TRY(ctl_put_u32(b, JOB_RECORD_FORMAT));
	ERR_TRY(ctl_put_text(b, r->id));
	ERR_TRY(ctl_put_u32s(b, (uint32_t[]){ r->attempt, flags, r->code, r->signo, r->elastic,
	    r->workers }, 6));
	ERR_TRY(ctl_put_u64(b, r->out));
	ERR_TRY(ctl_put_u64(b, r->err));
	return ctl_put_u32s(b, (uint32_t[]){ r->hosts, r->n, r->signals }, 3);
}

static int
put_record_member(const struct job_record_member *m, struct buf *b)
{
	ERR_TRY(ctl_put_u32s(b, (uint32_t[]){ m->state, m->pid, m->status, m->ms, m->peak_kib }, 5));
	ERR_TRY(ctl_put_text(b, m->addr));
	ERR_TRY(ctl_put_u64(b, m->out));
	return ctl_put_u64(b, m->err);
}

int
job_record_put(const struct job_record *r, struct buf *b)
{
	int e = put_record_head(r, b);

	for (uint32_t i = 0; i < r->hosts && e == 0; i++)
		if ((e = ctl_put_u32(b, r->host[i].ended ? 1 : r->host[i].lost ? 2 : 0)) == 0)
			e = ctl_put_u64(b, r->host[i].log);
	for (uint32_t i = 0; i < r->n && e == 0; i++)
		e = put_record_member(&r->m[i], b);
	for (uint32_t i = 0; i < r->signals && e == 0; i++)
		e = ctl_put_u32s(b, (uint32_t[]){ r->signal[i].whom, r->signal[i].signo }, 2);
	return e;
}

static void
get_record_text(struct ctl_in *in, char *to, size_t most)
{
	const char *text = ctl_get_text(in);
	size_t n = strlen(text);

	in->bad |= n >= most;
	if (n < most)
		memcpy(to, text, n + 1);
}

static void
get_record_head(struct job_record *r, struct ctl_in *in)
{
	uint32_t flags;

	if (in->n < MAGIC || memcmp(in->p, magic, MAGIC) != 0) {
		in->bad = true;
		return;
	}
	in->p += MAGIC;
	in->n -= MAGIC;
	in->bad = ctl_get_u32(in) != JOB_RECORD_FORMAT;
	get_record_text(in, r->id, sizeof(r->id));
	in->bad |= strlen(r->id) != JOB_RECORD_ID || strspn(r->id, "0123456789abcdef") != JOB_RECORD_ID;
	r->attempt = ctl_get_u32(in);
	flags = ctl_get_u32(in);
	r->started = flags & GONE;
	r->stopped = flags & STOPPED;
	r->asked = flags & ASKED;
	r->termed = flags & TERMED;
	r->killed = flags & KILLED;
	r->code = ctl_get_u32(in);
	r->signo = ctl_get_u32(in);
	r->elastic = ctl_get_u32(in);
	r->workers = ctl_get_u32(in);
	r->out = ctl_get_u64(in);
	r->err = ctl_get_u64(in);
	r->hosts = ctl_get_u32(in);
	r->n = ctl_get_u32(in);
	r->signals = ctl_get_u32(in);
	in->bad |= flags > FLAGS || r->code > 255 || r->signo >= NSIG || r->signals > JOB_RECORD_SIGNALS ||
	    r->hosts > in->n / OF_HOST || r->n > in->n / OF_MEMBER || r->signals > in->n / OF_SIGNAL;
}

static void
get_record_host(struct job_record_host *h, struct ctl_in *in)
{
	uint32_t state = ctl_get_u32(in);

	h->ended = state == 1;
	h->lost = state == 2;
	h->log = ctl_get_u64(in);
	in->bad |= state > 2;
}

static void
get_record_member(struct job_record_member *m, struct ctl_in *in)
{
	uint32_t state = ctl_get_u32(in);

	in->bad |= state > ROSTER_LOST;
	m->state = in->bad ? ROSTER_LOST : (enum roster_state)state;
	m->pid = ctl_get_u32(in);
	m->status = ctl_get_u32(in);
	m->ms = ctl_get_u32(in);
	m->peak_kib = ctl_get_u32(in);
	get_record_text(in, m->addr, sizeof(m->addr));
	m->out = ctl_get_u64(in);
	m->err = ctl_get_u64(in);
}

static void
get_record_signal(struct job_record_signal *s, struct ctl_in *in)
{
	uint32_t whom = ctl_get_u32(in);

	s->whom = whom == CTL_WORKERS ? CTL_WORKERS : CTL_ALL;
	s->signo = ctl_get_u32(in);
	in->bad |= whom > CTL_ALL || s->signo == 0 || s->signo >= NSIG;
}

int
job_record_get(const void *p, size_t n, struct job_record *r)
{
	struct ctl_in in = { .p = p, .n = n };

	*r = (struct job_record){ .host = NULL };
	get_record_head(r, &in);
	if (in.bad)
		r->hosts = r->n = r->signals = 0;
	r->host = calloc((size_t)r->hosts + 1, sizeof(*r->host));
	r->m = calloc((size_t)r->n + 1, sizeof(*r->m));
	if (r->host == NULL || r->m == NULL) {
		job_record_free(r);
		return err_nomem();
	}
	for (uint32_t i = 0; i < r->hosts; i++)
		get_record_host(&r->host[i], &in);
	for (uint32_t i = 0; i < r->n; i++)
		get_record_member(&r->m[i], &in);
	for (uint32_t i = 0; i < r->signals; i++)
		get_record_signal(&r->signal[i], &in);
	if (!in.bad && in.n == 0)
		return 0;
	job_record_free(r);
	return err_fail(ERR_FORMAT, "the job's record is malformed");
}

void
job_record_free(struct job_record *r)
{
	free(r->host);
	free(r->m);
	*r = (struct job_record){ .host = NULL };
}
