/* mark - copies a training log and adds the traffic of each epoch. */
#include "watch/mark.h"
#include "base/err.h"

#include "log/logline.h"
#include "log/tsv.h"

#include <inttypes.h>
#include <stdlib.h>

struct marker *
mark_new(const struct traffic *now, const regex_t *also)
{
	struct marker *m = calloc(1, sizeof(*m));

	if (m == NULL)
		return NULL;
	m->first = *now;
	m->also = also;
	return m;
}

void
mark_free(struct marker *m)
{
	if (m == NULL)
		return;
	buf_free(&m->part);
	free(m);
}

/* Returns the traffic since a rank's last mark, and sets a new mark. */
static struct traffic
mark_rank(struct marker *m, uint64_t rank, const struct traffic *now)
{
	size_t i = rank < MARK_RANKS ? (size_t)rank : MARK_RANKS;
	struct traffic t = traffic_since(m->seen[i] ? &m->last[i] : &m->first, now);

	m->last[i] = *now;
	m->seen[i] = true;
	return t;
}

static int
put_mark(struct buf *out, const char *before, size_t n, const struct traffic *t)
{
	ERR_TRY(buf_put(out, before, n));
	return buf_put_fmt(out, "Traffic rx=%" PRIu64 " tx=%" PRIu64 " bytes\n", t->bytes[TRAFFIC_RX],
	    t->bytes[TRAFFIC_TX]);
}

/* The place of "Time cost=" in the last line of an epoch, or 0 in any other line. */
static size_t
find_time_cost(const char *line, uint64_t *rank)
{
	const char *p = strstr(line, "] Time cost=");
	struct logline l;

	if (p == NULL || logline_parse(line, &l) != 1 || !l.has[LOGLINE_SECONDS] || l.by_step)
		return 0;
	*rank = l.rank;
	return (size_t)(p - line) + 2;
}

/* Copies a complete line of n bytes without its newline, and marks it. */
static int
copy_line(struct marker *m, char *line, size_t n, const struct traffic *now, struct buf *out)
{
	size_t end = n > 0 && line[n - 1] == '\r' ? n - 1 : n, at;
	const char *tail = end < n ? "\r\n" : "\n";
	struct tsv_row row;
	struct traffic t;
	uint64_t rank = LOGLINE_ANYONE;

	ERR_TRY(buf_put(out, line, end));
	if (strncmp(line, "time_s\t", 7) == 0)
		return buf_put_fmt(out, "\tnic_rx_bytes\tnic_tx_bytes%s", tail);
	if (tsv_parse(line, &row) == 1 && row.event == TSV_EPOCH) {
		t = mark_rank(m, row.rank, now);
		return buf_put_fmt(out, "\t%" PRIu64 "\t%" PRIu64 "%s", t.bytes[TRAFFIC_RX], t.bytes[TRAFFIC_TX], tail);
	}
	ERR_TRY(buf_put(out, tail, strlen(tail)));
	if ((at = find_time_cost(line, &rank)) > 0) {
		t = mark_rank(m, rank, now);
		return put_mark(out, line, at, &t);
	}
	if (m->also != NULL && regexec(m->also, line, 0, NULL, 0) == 0) {
		t = mark_rank(m, LOGLINE_ANYONE, now);
		return put_mark(out, "", 0, &t);
	}
	return 0;
}

/* Keeps bytes of a line until its end arrives, or copies them if the line is too long for a mark. */
static int
keep_part(struct marker *m, const char *p, size_t n, struct buf *out)
{
	if (!m->skip && m->part.n + n <= MARK_LINE)
		return buf_put(&m->part, p, n);
	if (!m->skip && m->part.n > 0)
		ERR_TRY(buf_put(out, m->part.p, m->part.n));
	m->part.n = 0;
	m->skip = true;
	return buf_put(out, p, n);
}

int
mark_copy(struct marker *m, const void *bytes, size_t n, const struct traffic *now, struct buf *out)
{
	const char *p = bytes, *nl;
	int e = 0;

	if (n == 0 && m->part.n > 0) {	/* a last line without a newline gets no mark */
		e = buf_put(out, m->part.p, m->part.n);
		m->part.n = 0;
		return e;
	}
	while (e == 0 && n > 0) {
		nl = memchr(p, '\n', n);
		e = keep_part(m, p, nl != NULL ? (size_t)(nl - p) : n, out);
		if (nl == NULL || e < 0)
			return e;
		if (m->skip)
			e = buf_put(out, "\n", 1);
		else if ((e = buf_terminate(&m->part)) == 0)
			e = copy_line(m, (char *)m->part.p, m->part.n, now, out);
		m->part.n = 0;
		m->skip = false;
		n -= (size_t)(nl + 1 - p);
		p = nl + 1;
	}
	return e;
}
