/* logline - parses the measurements in one line of a training log. */
#include "log/logline.h"

#include "log/tsv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS	32	/* bytes of the longest number, with its zero */

void
logline_set(struct logline *l, enum logline_measure m, double v)
{
	l->has[m] = true;
	l->value[m] = v;
}

/* Parses a number at *p and advances it.  strtod() alone would accept blanks, hexadecimal and names. */
static bool
parse_number(const char **p, double *v)
{
	char text[DIGITS];
	size_t n = strspn(*p, "0123456789.eE+-");
	char *end;

	if (strncmp(*p, "nan", 3) == 0) {
		*v = (double)NAN;
		*p += 3;
		return true;
	}
	if (n == 0 || n >= sizeof(text))
		return false;
	memcpy(text, *p, n);
	text[n] = 0;
	*v = strtod(text, &end);
	*p += end - text;
	return end != text && isfinite(*v);
}

static bool
parse_count(const char **p, uint64_t *v)
{
	size_t n = strspn(*p, "0123456789");

	if (n == 0 || n > 15)
		return false;
	*v = strtoull(*p, NULL, 10);
	*p += n;
	return true;
}

/* Advances *p to the end of the first occurrence of text. */
static bool
skip_past(const char **p, const char *text)
{
	const char *at = strstr(*p, text);

	if (at == NULL)
		return false;
	*p = at + strlen(text);
	return true;
}

static bool
skip_prefix(const char **p, const char *text)
{
	size_t n = strlen(text);

	if (strncmp(*p, text, n) != 0)
		return false;
	*p += n;
	return true;
}

/* Finds the rank in "worker 1: ", as dlaunch writes, or in "Node[1]", as MXNet's distributed examples did. */
static uint64_t
parse_rank(const char *line)
{
	const char *p = line;
	uint64_t rank;

	if (skip_prefix(&p, "worker ") && parse_count(&p, &rank) && *p == ':')
		return rank;
	p = line;
	if (skip_past(&p, "Node[") && parse_count(&p, &rank) && *p == ']')
		return rank;
	return LOGLINE_ANYONE;
}

/* "accuracy=0.5" on training or validation data. */
static bool
parse_metric(const char *p, struct logline *l, enum logline_measure accuracy, enum logline_measure loss)
{
	enum logline_measure m;
	double v;

	if (skip_prefix(&p, "accuracy="))
		m = accuracy;
	else if (skip_prefix(&p, "loss=") || skip_prefix(&p, "cross-entropy="))
		m = loss;
	else
		return false;
	if (!parse_number(&p, &v))
		return false;
	logline_set(l, m, v);
	return true;
}

static bool
parse_mxnet_line(const char *p, struct logline *l)
{
	double v;

	if (!skip_past(&p, "Epoch[") && !skip_past(&p, "Iteration[") && !skip_past(&p, "Iter["))
		return false;
	if (!parse_count(&p, &l->at) || !skip_prefix(&p, "] "))
		return false;
	if (skip_prefix(&p, "Train-"))
		return parse_metric(p, l, LOGLINE_TRAIN_ACCURACY, LOGLINE_TRAIN_LOSS);
	if (skip_prefix(&p, "Validation-"))
		return parse_metric(p, l, LOGLINE_VAL_ACCURACY, LOGLINE_VAL_LOSS);
	if (skip_prefix(&p, "Time cost=") && parse_number(&p, &v)) {
		logline_set(l, LOGLINE_SECONDS, v);
		return true;
	}
	if (skip_prefix(&p, "Traffic rx=") && parse_number(&p, &v)) {
		logline_set(l, LOGLINE_RX, v);
		if (skip_prefix(&p, " tx=") && parse_number(&p, &v))
			logline_set(l, LOGLINE_TX, v);
		return true;
	}
	/* The metric after a speed is that of the last batches, not of the epoch. */
	if (strncmp(p, "Batch", 5) == 0 && skip_past(&p, "Speed: ") && parse_number(&p, &v)) {
		logline_set(l, LOGLINE_SPEED, v);
		return true;
	}
	return false;
}

/* The example spells "accuracy" differently from line to line. */
static bool
parse_step_line(const char *p, struct logline *l)
{
	double v;

	if (!skip_past(&p, "After ") || !parse_count(&p, &l->at) || !skip_prefix(&p, " training steps"))
		return false;
	l->by_step = true;
	if (skip_prefix(&p, " (") && parse_number(&p, &v) && skip_prefix(&p, " global steps)"))
		logline_set(l, LOGLINE_GLOBAL_STEP, v);
	if (!skip_past(&p, "loss on training batch is ") || !parse_number(&p, &v))
		return false;
	logline_set(l, LOGLINE_TRAIN_LOSS, v);
	if (skip_past(&p, ", accura")) {
		p += strcspn(p, "0123456789.");
		if (parse_number(&p, &v))
			logline_set(l, LOGLINE_TRAIN_ACCURACY, v);
	}
	if (skip_past(&p, "(") && parse_number(&p, &v) && skip_prefix(&p, " sec/batch"))
		logline_set(l, LOGLINE_SECONDS, v);
	return true;
}

static bool
parse_epoch_table_row(const char *p, struct logline *l)
{
	static const enum logline_measure column[] = { LOGLINE_TRAIN_ACCURACY, LOGLINE_VAL_ACCURACY, LOGLINE_SECONDS };
	double v;

	if (!skip_prefix(&p, "| ") || !parse_count(&p, &l->at))
		return false;
	for (int i = 0; i < 3; i++) {
		if (!skip_prefix(&p, " | ") || !parse_number(&p, &v))
			return false;
		logline_set(l, column[i], v);
	}
	return skip_prefix(&p, " |");
}

static int
convert_tsv_row(const char *line, struct logline *l)
{
	struct tsv_row r;
	int e = tsv_parse(line, &r);
	bool val;

	if (e <= 0)
		return e;
	l->rank = r.rank;
	l->at = r.epoch;
	l->ends = r.event == TSV_END && r.role == TSV_WORKER;
	if (r.role != TSV_WORKER || r.epoch == TSV_NONE)
		return l->ends;
	if (r.event == TSV_TRAFFIC) {
		if (strcmp(r.class, "all") != 0)
			return 0;
		logline_set(l, LOGLINE_RX, (double)r.rx_bytes);
		logline_set(l, LOGLINE_TX, (double)r.tx_bytes);
		return r.rx_bytes != TSV_NONE && r.tx_bytes != TSV_NONE;
	}
	if (r.event == TSV_STALENESS) {
		if (strcmp(r.class, "all") != 0 || r.staleness_max == TSV_NONE || !(r.staleness >= 0))
			return 0;
		logline_set(l, LOGLINE_STALENESS, r.staleness);
		logline_set(l, LOGLINE_STALENESS_MOST, (double)r.staleness_max);
		return 1;
	}
	/* A run of one process has no traffic. */
	if (r.received_bytes != TSV_NONE && r.received_bytes > 0)
		logline_set(l, LOGLINE_RX_SO_FAR, (double)r.received_bytes);
	if (r.sent_bytes != TSV_NONE && r.sent_bytes > 0)
		logline_set(l, LOGLINE_TX_SO_FAR, (double)r.sent_bytes);
	if (r.event == TSV_SWEEP) {
		l->by_step = true;
		l->at = r.step;
		logline_set(l, LOGLINE_LR, r.lr);
		if (isfinite(r.loss))
			logline_set(l, LOGLINE_TRAIN_LOSS, r.loss);
		return 1;
	}
	val = r.event == TSV_VALIDATION;
	if (r.event != TSV_EPOCH && r.event != TSV_STEP && !val)
		return 0;
	if (r.event == TSV_STEP && r.step != TSV_NONE) {
		l->step = r.step;
		if (r.rx_bytes != TSV_NONE && r.tx_bytes != TSV_NONE) {
			logline_set(l, LOGLINE_RX, (double)r.rx_bytes);
			logline_set(l, LOGLINE_TX, (double)r.tx_bytes);
		}
	}
	if (r.accuracy >= 0)
		logline_set(l, val ? LOGLINE_VAL_ACCURACY : LOGLINE_TRAIN_ACCURACY, r.accuracy);
	if (r.top5_accuracy >= 0 && r.top5_accuracy <= 1)
		logline_set(l, val ? LOGLINE_VAL_TOP5 : LOGLINE_TRAIN_TOP5, r.top5_accuracy);
	if (!(r.loss < 0))
		logline_set(l, val ? LOGLINE_VAL_LOSS : LOGLINE_TRAIN_LOSS, r.loss);
	if (!val && r.samples_per_s > 0)
		logline_set(l, LOGLINE_SPEED, r.samples_per_s);
	if (r.samples_per_s > 0 && r.samples != TSV_NONE)
		logline_set(l, val ? LOGLINE_VAL_SECONDS : LOGLINE_SECONDS, (double)r.samples / r.samples_per_s);
	return 1;
}

/* Returns whether the line starts as a row: a time, a host and a role. */
static bool
is_row(const char *line)
{
	const char *p = line + strspn(line, "0123456789.");

	if (p == line || *p != '\t')
		return false;
	p++;
	p += strcspn(p, "\t");
	return strncmp(p, "\tworker\t", 8) == 0 || strncmp(p, "\tserver\t", 8) == 0;
}

int
logline_parse(const char *line, struct logline *l)
{
	*l = (struct logline){ .rank = parse_rank(line) };
	if (is_row(line))
		return convert_tsv_row(line, l);
	return parse_mxnet_line(line, l) || parse_step_line(line, l) || parse_epoch_table_row(line, l);
}

bool
logline_begins(const char *line)
{
	return skip_prefix(&line, "```") || skip_prefix(&line, "| epoch |") || skip_prefix(&line, "session started");
}
