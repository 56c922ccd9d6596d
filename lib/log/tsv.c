/* tsv - formats and parses the rows of a run's log. */
#include "log/tsv.h"

#include "base/err.h"
#include "base/num.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#define CELL	TSV_HOST	/* bytes of the longest cell with its zero */

enum kind { COUNT, MEASURE, HOST, NAME, ROLE, EVENT };

/* The columns in order. */
static const struct column {
	const char *name;
	enum kind kind;
	size_t at;
	int digits;	/* decimals of a measure; -1: nine significant digits */
} columns[] = {
	{ "time_s", MEASURE, offsetof(struct tsv_row, time_s), 3 },
	{ "host", HOST, offsetof(struct tsv_row, host), 0 },
	{ "role", ROLE, offsetof(struct tsv_row, role), 0 },
	{ "rank", COUNT, offsetof(struct tsv_row, rank), 0 },
	{ "event", EVENT, offsetof(struct tsv_row, event), 0 },
	{ "epoch", COUNT, offsetof(struct tsv_row, epoch), 0 },
	{ "step", COUNT, offsetof(struct tsv_row, step), 0 },
	{ "samples", COUNT, offsetof(struct tsv_row, samples), 0 },
	{ "loss", MEASURE, offsetof(struct tsv_row, loss), 6 },
	{ "accuracy", MEASURE, offsetof(struct tsv_row, accuracy), 6 },
	{ "samples_per_s", MEASURE, offsetof(struct tsv_row, samples_per_s), 2 },
	{ "lr", MEASURE, offsetof(struct tsv_row, lr), -1 },
	{ "wait_s", MEASURE, offsetof(struct tsv_row, wait_s), 3 },
	{ "sent_bytes", COUNT, offsetof(struct tsv_row, sent_bytes), 0 },
	{ "received_bytes", COUNT, offsetof(struct tsv_row, received_bytes), 0 },
	{ "rx_bytes", COUNT, offsetof(struct tsv_row, rx_bytes), 0 },
	{ "tx_bytes", COUNT, offsetof(struct tsv_row, tx_bytes), 0 },
	{ "peer", NAME, offsetof(struct tsv_row, peer), 0 },
	{ "class", NAME, offsetof(struct tsv_row, class), 0 },
	{ "cpu", MEASURE, offsetof(struct tsv_row, cpu), 2 },
	{ "host_load", MEASURE, offsetof(struct tsv_row, host_load), 3 },
	{ "top5_accuracy", MEASURE, offsetof(struct tsv_row, top5_accuracy), 6 },
	{ "device", NAME, offsetof(struct tsv_row, device), 0 },
	{ "device_load", MEASURE, offsetof(struct tsv_row, device_load), 3 },
	{ "device_bytes", COUNT, offsetof(struct tsv_row, device_bytes), 0 },
	{ "updates", COUNT, offsetof(struct tsv_row, updates), 0 },
	{ "staleness", MEASURE, offsetof(struct tsv_row, staleness), 3 },
	{ "staleness_min", COUNT, offsetof(struct tsv_row, staleness_min), 0 },
	{ "staleness_max", COUNT, offsetof(struct tsv_row, staleness_max), 0 },
};
#define NEEDED	15	/* columns that every row has */
#define COLUMNS	(sizeof(columns) / sizeof(*columns))

static const char *const events[] = {
#define EVENT_NAME(name, text) [name] = text,
	TSV_EVENTS(EVENT_NAME)
#undef EVENT_NAME
};
static const char *const roles[] = { [TSV_WORKER] = "worker", [TSV_SERVER] = "server" };

struct tsv_row
tsv_blank(enum tsv_event event, enum tsv_role role, uint64_t rank, const char *host)
{
	struct tsv_row r = {
		.role = role, .rank = rank, .event = event,
		.epoch = TSV_NONE, .step = TSV_NONE, .samples = TSV_NONE,
		.loss = TSV_VOID, .accuracy = TSV_VOID, .samples_per_s = TSV_VOID, .lr = TSV_VOID, .wait_s = TSV_VOID,
		.sent_bytes = TSV_NONE, .received_bytes = TSV_NONE,
		.rx_bytes = TSV_NONE, .tx_bytes = TSV_NONE,
		.cpu = TSV_VOID, .host_load = TSV_VOID, .top5_accuracy = TSV_VOID, .device_load = TSV_VOID,
		.device_bytes = TSV_NONE, .updates = TSV_NONE, .staleness = TSV_VOID, .staleness_min = TSV_NONE,
		.staleness_max = TSV_NONE,
	};

	snprintf(r.host, sizeof(r.host), "%s", host);
	return r;
}

int
tsv_head(struct buf *out)
{
	for (size_t i = 0; i < COLUMNS; i++)
		ERR_TRY(buf_put_fmt(out, "%s%s", i > 0 ? "\t" : "", columns[i].name));
	return buf_put(out, "\n", 1);
}

/* NaN and infinity are valid measures: a run can diverge. */
static int
put_measure(struct buf *out, double v, int digits)
{
	if (v < 0)
		return 0;
	if (!isfinite(v))
		return buf_put_fmt(out, "%s", isnan(v) ? "nan" : "inf");
	return digits < 0 ? buf_put_fmt(out, "%.9g", v) : buf_put_fmt(out, "%.*f", digits, v);
}

/* A name from outside must not break the line. */
static int
put_name(struct buf *out, const char *host)
{
	for (size_t i = 0; i < TSV_HOST - 1 && host[i] != 0; i++)
		ERR_TRY(buf_put(out, (unsigned char)host[i] < ' ' ? "?" : &host[i], 1));
	return 0;
}

static int
put_cell(struct buf *out, const struct column *c, const struct tsv_row *r)
{
	const void *at = (const char *)r + c->at;

	switch (c->kind) {
	case COUNT:
		if (*(const uint64_t *)at == TSV_NONE)
			return 0;
		return buf_put_fmt(out, "%llu", (unsigned long long)*(const uint64_t *)at);
	case MEASURE:
		return put_measure(out, *(const double *)at, c->digits);
	case HOST:
	case NAME:
		return put_name(out, at);
	case ROLE:
		return buf_put_fmt(out, "%s", roles[r->role]);
	case EVENT:
		return buf_put_fmt(out, "%s", events[r->event]);
	}
	return 0;
}

int
tsv_put(struct buf *out, const struct tsv_row *r)
{
	size_t start = out->n;
	int e = 0;

	for (size_t i = 0; i < COLUMNS && e == 0; i++) {
		if (i > 0)
			e = buf_put(out, "\t", 1);
		e = e < 0 ? e : put_cell(out, &columns[i], r);
	}
	e = e < 0 ? e : buf_put(out, "\n", 1);
	if (e < 0)
		out->n = start;
	return e;
}

static int
parse_measure(const char *text, double *v)
{
	if (strcmp(text, "nan") == 0 || strcmp(text, "inf") == 0) {
		*v = text[0] == 'n' ? (double)NAN : (double)INFINITY;
		return 0;
	}
	return num_f64(text, 0, DBL_MAX, v);
}

/* The number of a name, or n. */
static size_t
find_tsv_name(const char *text, const char *const *names, size_t n)
{
	size_t i = 0;

	while (i < n && strcmp(text, names[i]) != 0)
		i++;
	return i;
}

static int
parse_tsv_cell(const char *text, const struct column *c, struct tsv_row *r)
{
	void *at = (char *)r + c->at;
	size_t i;

	switch (c->kind) {
	case COUNT:
		return *text == 0 ? 0 : num_u64(text, 0, TSV_NONE - 1, at);
	case MEASURE:
		return *text == 0 ? 0 : parse_measure(text, at);
	case HOST:
		memcpy(r->host, text, strlen(text) + 1);	/* CELL is TSV_HOST */
		return 0;
	case NAME:
		snprintf(at, TSV_NAME, "%.*s", TSV_NAME - 1, text);
		return 0;
	case ROLE:
		if ((i = find_tsv_name(text, roles, TSV_ROLE_COUNT)) == TSV_ROLE_COUNT)
			return err_fail(ERR_FORMAT, "'%.32s' is not a role", text);
		r->role = (enum tsv_role)i;
		return 0;
	case EVENT:
		if ((i = find_tsv_name(text, events, TSV_EVENT_COUNT)) == TSV_EVENT_COUNT)
			return err_fail(ERR_FORMAT, "'%.32s' is not an event", text);
		r->event = (enum tsv_event)i;
		return 0;
	}
	return 0;
}

int
tsv_is_head(const char *line)
{
	return *line == '#' || strncmp(line, "time_s\t", 7) == 0;
}

int
tsv_parse(const char *line, struct tsv_row *r)
{
	char cell[CELL];
	size_t n;

	if (tsv_is_head(line) || line[strspn(line, "\r\n")] == 0)
		return 0;
	*r = tsv_blank(TSV_START, TSV_WORKER, 0, "");
	for (size_t i = 0; i < COLUMNS; i++) {
		if ((n = strcspn(line, "\t\r\n")) >= sizeof(cell))
			return err_fail(ERR_LIMIT, "%s: longer than %zu bytes", columns[i].name, sizeof(cell) - 1);
		memcpy(cell, line, n);
		cell[n] = 0;
		ERR_TRY(err_wrap(parse_tsv_cell(cell, &columns[i], r), "%s", columns[i].name));
		line += n;
		if (i + 1 >= NEEDED && *line != '\t')
			return 1;
		if (i + 1 < COLUMNS && *line++ != '\t')
			return err_fail(ERR_FORMAT, "ends after the column %s", columns[i].name);
	}
	return 1;
}
