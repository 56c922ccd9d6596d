/* logline - one line of a training log, ours or another's, into what it measured. */
#include "log/logline.h"

#include "base/err.h"
#include "log/tsv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS	32	/* of the longest number that is looked at */

static void
set(struct logline *l, enum logline_measure m, double v)
{
	l->has[m] = true;
	l->value[m] = v;
}

/* A number at *p, which moves behind it; strtod alone would also take blanks, hexadecimal and names. */
static bool
number(const char **p, double *v)
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
count(const char **p, uint64_t *v)
{
	size_t n = strspn(*p, "0123456789");

	if (n == 0 || n > 15)
		return false;
	*v = strtoull(*p, NULL, 10);
	*p += n;
	return true;
}

/* Moves *p behind the first text in it. */
static bool
behind(const char **p, const char *text)
{
	const char *at = strstr(*p, text);

	if (at == NULL)
		return false;
	*p = at + strlen(text);
	return true;
}

static bool
starts(const char **p, const char *text)
{
	size_t n = strlen(text);

	if (strncmp(*p, text, n) != 0)
		return false;
	*p += n;
	return true;
}

/* Whose line: "worker 1: ..." as dlaunch writes, "... Node[1] ..." as MXNet's distributed examples did. */
static uint64_t
whose(const char *line)
{
	const char *p = line;
	uint64_t rank;

	if (starts(&p, "worker ") && count(&p, &rank) && *p == ':')
		return rank;
	p = line;
	if (behind(&p, "Node[") && count(&p, &rank) && *p == ']')
		return rank;
	return LOGLINE_ANYONE;
}

/* "accuracy=0.5": what is measured on train or validation data. */
static bool
metric(const char *p, struct logline *l, enum logline_measure accuracy, enum logline_measure loss)
{
	enum logline_measure m;
	double v;

	if (starts(&p, "accuracy="))
		m = accuracy;
	else if (starts(&p, "loss=") || starts(&p, "cross-entropy="))
		m = loss;
	else
		return false;
	if (!number(&p, &v))
		return false;
	set(l, m, v);
	return true;
}

static bool
mxnet(const char *p, struct logline *l)
{
	double v;

	if (!behind(&p, "Epoch[") && !behind(&p, "Iteration[") && !behind(&p, "Iter["))
		return false;
	if (!count(&p, &l->at) || !starts(&p, "] "))
		return false;
	if (starts(&p, "Train-"))
		return metric(p, l, LOGLINE_TRAIN_ACCURACY, LOGLINE_TRAIN_LOSS);
	if (starts(&p, "Validation-"))
		return metric(p, l, LOGLINE_VAL_ACCURACY, LOGLINE_VAL_LOSS);
	if (starts(&p, "Time cost=") && number(&p, &v)) {
		set(l, LOGLINE_SECONDS, v);
		return true;
	}
	if (starts(&p, "Traffic rx=") && number(&p, &v)) {
		set(l, LOGLINE_RX, v);
		if (starts(&p, " tx=") && number(&p, &v))
			set(l, LOGLINE_TX, v);
		return true;
	}
	/* The metric behind a speed is that of the last batches, not the epoch's. */
	if (strncmp(p, "Batch", 5) == 0 && behind(&p, "Speed: ") && number(&p, &v)) {
		set(l, LOGLINE_SPEED, v);
		return true;
	}
	return false;
}

/* The example's own spelling of "accuracy" changes from line to line. */
static bool
steps(const char *p, struct logline *l)
{
	double v;

	if (!behind(&p, "After ") || !count(&p, &l->at) || !starts(&p, " training steps"))
		return false;
	l->by_step = true;
	if (starts(&p, " (") && number(&p, &v) && starts(&p, " global steps)"))
		set(l, LOGLINE_GLOBAL_STEP, v);
	if (!behind(&p, "loss on training batch is ") || !number(&p, &v))
		return false;
	set(l, LOGLINE_TRAIN_LOSS, v);
	if (behind(&p, ", accura")) {
		p += strcspn(p, "0123456789.");
		if (number(&p, &v))
			set(l, LOGLINE_TRAIN_ACCURACY, v);
	}
	if (behind(&p, "(") && number(&p, &v) && starts(&p, " sec/batch"))
		set(l, LOGLINE_SECONDS, v);
	return true;
}

static bool
cells(const char *p, struct logline *l)
{
	static const enum logline_measure column[] = { LOGLINE_TRAIN_ACCURACY, LOGLINE_VAL_ACCURACY, LOGLINE_SECONDS };
	double v;

	if (!starts(&p, "| ") || !count(&p, &l->at))
		return false;
	for (int i = 0; i < 3; i++) {
		if (!starts(&p, " | ") || !number(&p, &v))
			return false;
		set(l, column[i], v);
	}
	return starts(&p, " |");
}

static int
row(const char *line, struct logline *l)
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
		set(l, LOGLINE_RX, (double)r.rx_bytes);
		set(l, LOGLINE_TX, (double)r.tx_bytes);
		return r.rx_bytes != TSV_NONE && r.tx_bytes != TSV_NONE;
	}
	/* A run of one process has no traffic to tell of. */
	if (r.received_bytes != TSV_NONE && r.received_bytes > 0)
		set(l, LOGLINE_RX_SO_FAR, (double)r.received_bytes);
	if (r.sent_bytes != TSV_NONE && r.sent_bytes > 0)
		set(l, LOGLINE_TX_SO_FAR, (double)r.sent_bytes);
	val = r.event == TSV_VALIDATION;
	if (r.event != TSV_EPOCH && !val)
		return r.event == TSV_STEP;
	if (r.accuracy >= 0)
		set(l, val ? LOGLINE_VAL_ACCURACY : LOGLINE_TRAIN_ACCURACY, r.accuracy);
	if (r.top5_accuracy >= 0 && r.top5_accuracy <= 1)
		set(l, val ? LOGLINE_VAL_TOP5 : LOGLINE_TRAIN_TOP5, r.top5_accuracy);
	if (!(r.loss < 0))
		set(l, val ? LOGLINE_VAL_LOSS : LOGLINE_TRAIN_LOSS, r.loss);
	if (!val && r.samples_per_s > 0)
		set(l, LOGLINE_SPEED, r.samples_per_s);
	if (r.samples_per_s > 0 && r.samples != TSV_NONE)
		set(l, val ? LOGLINE_VAL_SECONDS : LOGLINE_SECONDS, (double)r.samples / r.samples_per_s);
	return 1;
}

/* Is this meant to be a row: a time, a tab, and a role in the third cell? */
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
	*l = (struct logline){ .rank = whose(line) };
	if (is_row(line))
		return row(line, l);
	return mxnet(line, l) || steps(line, l) || cells(line, l);
}

bool
logline_begins(const char *line)
{
	return starts(&line, "```") || starts(&line, "| epoch |") || starts(&line, "session started");
}
