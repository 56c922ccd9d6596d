/* doc - parses measurements in tables and summaries of documents. */
#include "log/doc.h"
#include "log/amount.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE	1024	/* bytes of a line that are parsed */
#define SHORT	48	/* bytes of the longest heading without a mark */

static void
label_whole_run(const struct doc *d, struct logline *l, const char *label)
{
	const int room = (int)(sizeof(l->label) - sizeof(d->span) - sizeof(": "));

	l->at = LOGLINE_WHOLE;
	if (d->span[0] != 0)
		snprintf(l->label, sizeof(l->label), "%s: %.*s", d->span, room, label);
	else
		snprintf(l->label, sizeof(l->label), "%s", label);
}

/* Copies p[0..n) without the blanks and the markup at its ends, and without backquotes. */
static void
copy_name(const char *p, size_t n, char name[LOGLINE_LABEL])
{
	while (n > 0 && strchr(" \t#*>-`", *p) != NULL) {
		p++;
		n--;
	}
	while (n > 0 && strchr(" \t:*`\r\n", p[n - 1]) != NULL)
		n--;
	n = n < LOGLINE_LABEL ? n : LOGLINE_LABEL - 1;
	memcpy(name, p, n);
	name[n] = 0;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)name[i] < ' ')
			name[i] = ' ';
	for (char *tick; (tick = strchr(name, '`')) != NULL;)
		memmove(tick, tick + 1, strlen(tick));
}

/* The name of a summary at `at`: the text before it on its line, else the heading. */
static const char *
name_summary(struct doc *d, const char *line, const char *at, char name[LOGLINE_LABEL])
{
	copy_name(line, (size_t)(at - line), name);
	return name[0] != 0 ? name : d->heading;
}

static bool
parse_traffic(struct doc *d, const char *line, struct logline *l)
{
	const char *at = strstr(line, "bytes"), *p;
	char name[LOGLINE_LABEL];
	double rx, tx;

	if (at == NULL || strchr(at, '|') == NULL)
		return false;
	p = at + 5;
	p = amount_skip_blanks(*p == ':' ? p + 1 : p);
	if (!amount_bytes(&p, "rx", &rx) || *(p = amount_skip_blanks(p)) != '|')
		return false;
	p++;
	if (!amount_bytes(&p, "tx", &tx))
		return false;
	label_whole_run(d, l, name_summary(d, line, at, name));
	logline_set(l, LOGLINE_RX, rx);
	logline_set(l, LOGLINE_TX, tx);
	return true;
}

/* "packets 12 | 34", "max 970.90 Mbit/s | 984.51 Mbit/s" or "average ...": received and sent. */
static bool
parse_rates(struct doc *d, const char *line, struct logline *l)
{
	static const struct { const char *word; enum logline_measure rx; bool count; } rows[] = {
		{ "packets ", LOGLINE_RX_PACKETS, true }, { "average ", LOGLINE_RX_RATE, false },
		{ "max ", LOGLINE_RX_PEAK, false },
	};
	const char *p = amount_skip_blanks(line);
	double v[2];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (strncmp(p, rows[i].word, strlen(rows[i].word)) != 0)
			continue;
		p = amount_skip_blanks(p + strlen(rows[i].word));
		for (int k = 0; k < 2; k++) {
			if (!(rows[i].count ? amount_number(&p, &v[k]) : amount_rate(&p, &v[k])))
				return false;
			p = amount_skip_blanks(p);
			if (k == 0 && *p != '|')
				return false;
			p = k == 0 ? amount_skip_blanks(p + 1) : p;
		}
		label_whole_run(d, l, d->heading);
		logline_set(l, rows[i].rx, v[0]);
		logline_set(l, rows[i].rx + 1, v[1]);
		return true;
	}
	return false;
}

/* "  time    761.53 minutes" below these. */
static bool
parse_duration(struct doc *d, const char *line, struct logline *l)
{
	const char *p = amount_skip_blanks(line);
	double v;

	if (strncmp(p, "time ", 5) == 0)
		p = amount_skip_blanks(p + 5);
	else if ((p = strstr(line, "Total training time: ")) != NULL)
		p += 21;
	if (p == NULL || !amount_number(&p, &v))
		return false;
	p = amount_skip_blanks(p);
	if (strncmp(p, "minutes", 7) != 0 && strncmp(p, "seconds", 7) != 0)
		return false;
	label_whole_run(d, l, d->heading);
	logline_set(l, LOGLINE_SECONDS, *p == 'm' ? v * 60 : v);
	return true;
}

/* "131*2+93". */
static bool
parse_step_product(const char **p, uint64_t *v)
{
	double sum = 0, factor = 1, x;

	for (;; (*p)++) {
		size_t n = strspn(*p, "0123456789");

		if (n == 0 || n > 9)
			return false;
		x = strtod(*p, NULL);
		*p += n;
		factor *= x;
		if (**p != '*') {
			sum += factor;
			factor = 1;
		}
		if (**p != '*' && **p != '+')
			break;
	}
	if (!(sum < 1e15))
		return false;
	*v = (uint64_t)sum;
	return true;
}

static bool
parse_ifconfig_counters(struct doc *d, const char *line, struct logline *l)
{
	const char *rx = strstr(line, "RX bytes:"), *tx = strstr(line, "TX bytes:"), *p = amount_skip_blanks(line);
	double r, t;

	if (rx == NULL || tx == NULL)
		return false;
	if (strncmp(p, "batch", 5) == 0)
		p += 5;
	rx += 9;
	tx += 9;
	if (!parse_step_product(&p, &l->at) || !amount_number(&rx, &r) || !amount_number(&tx, &t))
		return false;
	l->by_step = true;
	d->span[0] = 0;
	snprintf(l->label, sizeof(l->label), "%s", d->heading);
	logline_set(l, LOGLINE_RX_SO_FAR, r);
	logline_set(l, LOGLINE_TX_SO_FAR, t);
	return true;
}

static bool
parse_accuracy(struct doc *d, const char *line, struct logline *l)
{
	const char *at = strstr(line, "Acc@1"), *p;
	char name[LOGLINE_LABEL];
	double train, valid, top5;

	if (at != NULL) {
		p = amount_skip_blanks(at + 5);
		if (!amount_number(&p, &valid) || valid > 100)
			return false;
		if (name_summary(d, line, at, name) == name)
			memcpy(d->heading, name, sizeof(name));
		label_whole_run(d, l, d->heading);
		logline_set(l, LOGLINE_VAL_ACCURACY, valid / 100);
		p = amount_skip_blanks(p);
		if (strncmp(p, "Acc@5", 5) == 0 && (p = amount_skip_blanks(p + 5), amount_number(&p, &top5)) &&
		    top5 <= 100)
			logline_set(l, LOGLINE_VAL_TOP5, top5 / 100);
		return true;
	}
	if ((p = strstr(line, "Accuracy achieved: ")) == NULL || (p += 19, !amount_number(&p, &train)) ||
	    strncmp(p, "% / ", 4) != 0)
		return false;
	p += 4;
	if (!amount_number(&p, &valid))
		return false;
	label_whole_run(d, l, d->heading);
	logline_set(l, LOGLINE_TRAIN_ACCURACY, train / 100);
	logline_set(l, LOGLINE_VAL_ACCURACY, valid / 100);
	return true;
}

/* "server1  54.8  54.8" below "rx tx". */
static bool
parse_traffic_pair(struct doc *d, const char *line, struct logline *l)
{
	const char *p = amount_skip_blanks(line);
	size_t n = strcspn(p, " \t");
	char name[LOGLINE_LABEL];
	double rx, tx;

	copy_name(p, n, name);
	p = amount_skip_blanks(p + n);
	if (!amount_number(&p, &rx) || *(p = amount_skip_blanks(p)) == 0 || !amount_number(&p, &tx) ||
	    *amount_skip_blanks(p) != 0)
		return false;
	label_whole_run(d, l, name);
	logline_set(l, LOGLINE_RX, rx * d->unit);
	logline_set(l, LOGLINE_TX, tx * d->unit);
	return true;
}

/* The last row of netstat-logging, about the whole run. */
static bool
parse_netstat_row(const char *line, struct logline *l)
{
	char host[24], interface[20];
	double seconds, rx, tx;

	if (strstr(line, "Z\t") == NULL || strstr(line, "\tend\t") == NULL ||
	    sscanf(line, "%*f\t%*[0-9T:.Z-]\t%23[^\t]\t%19[^\t]\tend\t%lf\t%lf\t%lf", host, interface, &seconds, &rx,
	    &tx) != 5)
		return false;
	l->at = LOGLINE_WHOLE;
	snprintf(l->label, sizeof(l->label), "%s %s", host, interface);
	logline_set(l, LOGLINE_SECONDS, seconds);
	logline_set(l, LOGLINE_RX, rx);
	logline_set(l, LOGLINE_TX, tx);
	return isfinite(seconds) && isfinite(rx) && isfinite(tx);
}

static bool
has_word(const char *text, const char *word)
{
	const char *p = strstr(text, word);

	return p != NULL && (p == text || !isalpha((unsigned char)p[-1])) && !isalpha((unsigned char)p[strlen(word)]);
}

/* Classifies a column by its head.  "Time per epoch" is a time, not an epoch. */
static enum doc_column
classify_column(const char *head, enum logline_measure *m)
{
	bool valid = strstr(head, "valid") != NULL || strstr(head, "test") != NULL;

	if (strstr(head, "time") != NULL || has_word(head, "seconds"))
		*m = LOGLINE_SECONDS;
	else if (strstr(head, "throughput") != NULL || strstr(head, "samples/s") != NULL)
		*m = LOGLINE_SPEED;
	else if (strstr(head, "accuracy") != NULL)
		*m = strstr(head, "train") != NULL && !valid ? LOGLINE_TRAIN_ACCURACY : LOGLINE_VAL_ACCURACY;
	else if (has_word(head, "loss"))
		*m = valid ? LOGLINE_VAL_LOSS : LOGLINE_TRAIN_LOSS;
	else if (has_word(head, "load"))
		*m = LOGLINE_LOAD;
	else if (has_word(head, "rx") || has_word(head, "tx"))
		*m = has_word(head, "rx") ? LOGLINE_RX : LOGLINE_TX;
	else
		return has_word(head, "epoch") || has_word(head, "epochs") ? DOC_EPOCH : has_word(head, "step") ?
		    DOC_STEP : DOC_NAME;
	return DOC_MEASURE;
}

/* The bytes of a cell up to its bar.  A bar after a backslash belongs to the cell. */
static size_t
count_cell(const char *p)
{
	size_t n = 0;

	while (p[n] != 0 && p[n] != '|')
		n += p[n] == '\\' && p[n + 1] != 0 ? 2 : 1;
	return n;
}

/* Removes the backslashes that escape punctuation. */
static void
unescape_cell(char *cell)
{
	char *to = cell;

	for (const char *p = cell; *p != 0; p++) {
		if (*p == '\\' && ispunct((unsigned char)p[1]))
			p++;
		*to++ = *p;
	}
	*to = 0;
}

/* Splits a table's line into cells without surrounding blanks.  Further columns are ignored. */
static int
split_cells(const char *line, char cell[DOC_COLUMNS][LOGLINE_LABEL])
{
	int n = 0;

	for (const char *p = line + 1; n < DOC_COLUMNS && *amount_skip_blanks(p) != 0; n++) {
		size_t len = count_cell(p), end = len;
		const char *from = p;

		while (end > 0 && isspace((unsigned char)from[0])) {
			from++;
			end--;
		}
		while (end > 0 && isspace((unsigned char)from[end - 1]))
			end--;
		snprintf(cell[n], LOGLINE_LABEL, "%.*s", (int)(end < LOGLINE_LABEL ? end : LOGLINE_LABEL - 1), from);
		unescape_cell(cell[n]);
		p += len + (p[len] == '|');
	}
	return n;
}

static void
read_table_head(struct doc *d, char cell[DOC_COLUMNS][LOGLINE_LABEL], int n)
{
	bool measures = false;

	for (int i = 0; i < n; i++) {
		for (char *c = cell[i]; *c != 0; c++)
			*c = (char)tolower((unsigned char)*c);
		d->column[i] = classify_column(cell[i], &d->measure[i]);
		measures |= d->column[i] == DOC_MEASURE;
	}
	d->columns = measures ? n : -1;
	d->begins = true;
}

static void
read_table_cell(const struct doc *d, int i, const char *cell, struct logline *l)
{
	size_t used = strlen(l->label);
	const char *p = cell;
	double v;

	if (d->column[i] == DOC_NAME) {
		snprintf(l->label + used, sizeof(l->label) - used, "%s%s", used > 0 && *cell != 0 ? " " : "", cell);
		return;
	}
	if (!amount_number(&p, &v))
		return;
	if (d->column[i] != DOC_MEASURE) {
		if (v < 1e15)
			l->at = (uint64_t)v;
		l->by_step = d->column[i] == DOC_STEP;
		return;
	}
	if (amount_unit(amount_skip_blanks(p)) > 0 && (d->measure[i] == LOGLINE_RX || d->measure[i] == LOGLINE_TX))
		v *= amount_unit(amount_skip_blanks(p));
	logline_set(l, d->measure[i], v);
	/* "6800 (8-80%)": eight devices at 80 % */
	if ((p = strchr(p, '(')) != NULL && d->measure[i] == LOGLINE_SPEED && strchr(p, '%') != NULL) {
		p = strchr(p, '-') != NULL ? strchr(p, '-') + 1 : p + 1;
		if (amount_number(&p, &v) && *p == '%')
			logline_set(l, LOGLINE_LOAD, v / 100);
	}
}

static bool
parse_table_line(struct doc *d, const char *line, struct logline *l)
{
	char cell[DOC_COLUMNS][LOGLINE_LABEL];
	int n = split_cells(line, cell);

	if (n == 0 || cell[0][strspn(cell[0], "-: ")] == 0)
		return false;	/* the line below the head */
	if (d->columns == 0) {
		read_table_head(d, cell, n);
		return false;
	}
	l->at = LOGLINE_WHOLE;
	for (int i = 0; i < n && i < d->columns; i++)
		read_table_cell(d, i, cell[i], l);
	if (l->label[0] == 0 && d->item[0] != 0)
		snprintf(l->label, sizeof(l->label), "%.46s: %.46s", d->heading, d->item);
	for (int m = 0; m < LOGLINE_MEASURES && d->columns > 0; m++)
		if (l->has[m])
			return true;
	return false;
}

/* Keeps the last "one epoch", "30 epochs" or "epoch 50" of a line. */
static void
remember_epochs(struct doc *d, const char *line)
{
	for (const char *at = line; (at = strstr(at, "epoch")) != NULL; at += 5) {
		const char *from = at, *end = at + 5 + (at[5] == 's');
		size_t behind = *end == ' ' ? strspn(end + 1, "0123456789") : 0;

		if (at - line >= 4 && strncmp(at - 4, "one ", 4) == 0)
			from = at - 4;
		else if (at > line && at[-1] == ' ')
			for (from = at - 1; from > line && isdigit((unsigned char)from[-1]);)
				from--;
		if (from < at && *from != ' ')
			snprintf(d->span, sizeof(d->span), "%.*s", (int)(end - from), from);
		else if (behind > 0)
			snprintf(d->span, sizeof(d->span), "%.*s", (int)(end + 1 + behind - at), at);
	}
}

/* Keeps what a line without measurements says about the following ones. */
static void
remember_heading(struct doc *d, const char *line)
{
	const char *p = amount_skip_blanks(line), *unit = strstr(line, "unit:");
	char name[LOGLINE_LABEL], rx[3], tx[3];
	int end = 0;

	remember_epochs(d, line);
	if (unit != NULL)
		d->unit = amount_unit(amount_skip_blanks(unit + 5));
	if (sscanf(p, "%2s %2s %n", rx, tx, &end) == 2 && p[end] == 0 && strcmp(rx, "rx") == 0 &&
	    strcmp(tx, "tx") == 0) {
		d->pairs = d->unit > 0;
		d->begins = true;
		return;
	}
	if (p[0] == '-' && p[1] == ' ') {
		copy_name(p, strlen(p), d->item);
		return;
	}
	if (*p == '#' || (strlen(p) < SHORT && *p != '-' && !isdigit((unsigned char)*p) && strchr(p, '|') == NULL)) {
		char *slash;

		copy_name(p, strlen(p), name);
		if ((slash = strstr(name, "  /  traffic statistics")) != NULL)
			*slash = 0;
		if (name[0] == 0)
			return;
		memcpy(d->heading, name, sizeof(name));
		d->item[0] = 0;
	}
}

int
doc_parse(struct doc *d, const char *text, struct logline *l)
{
	char line[LINE];
	bool measured;

	*l = (struct logline){ .rank = LOGLINE_ANYONE };
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(text, "\r\n") < LINE - 1 ? (int)strcspn(text, "\r\n") :
	    LINE - 1, text);
	if (line[0] == '|') {
		d->pairs = false;
		measured = parse_table_line(d, line, l);
	} else {
		d->columns = 0;
		measured = parse_traffic(d, line, l) || parse_rates(d, line, l) || parse_duration(d, line, l) ||
		    parse_ifconfig_counters(d, line, l) || parse_accuracy(d, line, l) ||
		    (d->pairs && parse_traffic_pair(d, line, l)) || parse_netstat_row(line, l);
		d->pairs = d->pairs && measured;
		if (!measured) {
			*l = (struct logline){ .rank = LOGLINE_ANYONE };
			remember_heading(d, line);
		}
	}
	return measured;
}
