/* tfevents - writes measurements as event files, which TensorBoard reads. */
#include "log/tfevents.h"

#include "base/err.h"
#include "base/io.h"
#include "base/proto.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define FILE_NAME	"events.out.tfevents.0.plog"

/* Only measures with a tag are written.  TensorBoard groups tags by the part before the slash. */
static const char *const tags[LOGLINE_MEASURES] = {
	[LOGLINE_TRAIN_ACCURACY] = "accuracy/train", [LOGLINE_VAL_ACCURACY] = "accuracy/validation",
	[LOGLINE_TRAIN_LOSS] = "loss/train", [LOGLINE_VAL_LOSS] = "loss/validation",
	[LOGLINE_TRAIN_TOP5] = "top5_accuracy/train", [LOGLINE_VAL_TOP5] = "top5_accuracy/validation",
	[LOGLINE_SECONDS] = "seconds/train", [LOGLINE_VAL_SECONDS] = "seconds/validation",
	[LOGLINE_SPEED] = "speed/samples_per_s", [LOGLINE_LOAD] = "load/devices",
	[LOGLINE_RX] = "traffic/rx_bytes", [LOGLINE_TX] = "traffic/tx_bytes",
	[LOGLINE_STALENESS] = "staleness/mean", [LOGLINE_STALENESS_MOST] = "staleness/most",
};

/* CRC-32C (RFC 3720, appendix B.4), masked as TFRecords need it. */
static uint32_t
mask_crc(const uint8_t *p, size_t n)
{
	uint32_t c = UINT32_MAX;

	while (n-- > 0) {
		c ^= *p++;
		for (int i = 0; i < 8; i++)
			c = c >> 1 ^ ((c & 1) != 0 ? UINT32_C(0x82f63b78) : 0);
	}
	c = ~c;
	return (c >> 15 | c << 17) + UINT32_C(0xa282ead8);
}

static int
put_tfrecord(struct buf *out, const struct buf *data)
{
	uint8_t head[12], tail[4];

	le_put64(head, data->n);
	le_put32(head + 8, mask_crc(head, 8));
	le_put32(tail, mask_crc(data->p, data->n));
	ERR_TRY(buf_put(out, head, sizeof(head)));
	ERR_TRY(buf_put(out, data->p, data->n));
	return buf_put(out, tail, sizeof(tail));
}

/* Puts the event of a row, unless the row has no measure with a tag.  A value has tag = 1 and simple_value = 2. */
static int
put_row_event(struct buf *out, const struct curve_row *r, double wall_s)
{
	struct proto event = { 0 };
	size_t summary, value, empty;	/* empty is the event's size without values */
	int e;

	proto_double(&event, 1, wall_s);
	proto_uint(&event, 2, r->at);
	summary = proto_open(&event, 5);
	empty = event.b.n;
	for (int m = 0; m < LOGLINE_MEASURES; m++)
		if (r->has[m] && tags[m] != NULL) {
			value = proto_open(&event, 1);
			proto_text(&event, 1, tags[m]);
			proto_float(&event, 2, (float)r->value[m]);
			proto_close(&event, value);
		}
	e = event.e;
	if (event.b.n > empty) {
		proto_close(&event, summary);
		e = event.e < 0 ? event.e : put_tfrecord(out, &event.b);
	}
	buf_free(&event.b);
	return e;
}

/* Puts the first event, which names the version of the format. */
static int
put_version_event(struct buf *out)
{
	struct proto event = { 0 };
	int e;

	proto_double(&event, 1, 0);
	proto_text(&event, 3, "b" "rain.Event:2");	/* in two, since the tree avoids the first word */
	e = event.e < 0 ? event.e : put_tfrecord(out, &event.b);
	buf_free(&event.b);
	return e;
}

/* Puts the events of a run of n rows.  In a log by steps the seconds are those of a step, and rows may omit steps. */
static int
put_run_events(struct buf *out, const struct curve_row *r, size_t n)
{
	double wall_s = 0;
	uint64_t timed = 0;	/* steps that wall_s counts */

	ERR_TRY(put_version_event(out));
	for (; n > 0; n--, r++) {
		if (r->at == LOGLINE_WHOLE)
			continue;
		if (r->has[LOGLINE_SECONDS]) {
			wall_s += r->value[LOGLINE_SECONDS] * (r->by_step ? (double)(r->at - timed) : 1);
			timed = r->at;
		}
		wall_s += r->has[LOGLINE_VAL_SECONDS] ? r->value[LOGLINE_VAL_SECONDS] : 0;
		ERR_TRY(put_row_event(out, r, wall_s));
	}
	return 0;
}

static int
make_folder(const char *path)
{
	return mkdir(path, 0777) < 0 && errno != EEXIST ? err_sys("mkdir %s", path) : 0;
}

static bool
is_taken(char (*folder)[LOGLINE_LABEL], uint32_t run)
{
	for (uint32_t i = 0; i < run; i++)
		if (strcmp(folder[i], folder[run]) == 0)
			return true;
	return false;
}

/* Names a run's folder: the run's name without slashes and a leading point, numbered until no earlier folder has it. */
static void
name_folder(const struct curve_rows *rows, uint32_t run, char (*folder)[LOGLINE_LABEL])
{
	char name[LOGLINE_LABEL];

	curve_name(rows, run, name);
	for (char *p = name; *p != 0; p++)
		if (*p == '/' || (p == name && *p == '.'))
			*p = '_';
	memcpy(folder[run], name, sizeof(name));
	for (uint32_t number = run + 1; is_taken(folder, run); number++)
		snprintf(folder[run], LOGLINE_LABEL, "%.80s-%" PRIu32, name, number);
}

int
tfevents_write(const struct curve_rows *rows, const char *dir)
{
	char folder[PATH_MAX], path[PATH_MAX + sizeof(FILE_NAME)];
	char (*name)[LOGLINE_LABEL] = calloc((size_t)rows->runs + 1, sizeof(*name));
	struct buf events = { 0 };
	int e = name == NULL ? err_nomem() : make_folder(dir);

	for (size_t i = 0, k; i < rows->n && e == 0; i = k) {
		uint32_t run = rows->row[i].run;

		for (k = i; k < rows->n && rows->row[k].run == run; k++)
			continue;
		events.n = 0;
		e = put_run_events(&events, &rows->row[i], k - i);
		snprintf(folder, sizeof(folder), "%s", dir);
		if (rows->runs > 1 || rows->label[0][0] != 0) {
			name_folder(rows, run, name);
			snprintf(folder, sizeof(folder), "%.*s/%s", PATH_MAX - LOGLINE_LABEL - 1, dir, name[run]);
			e = e < 0 ? e : make_folder(folder);
		}
		snprintf(path, sizeof(path), "%s/" FILE_NAME, folder);
		e = e < 0 ? e : io_replace(path, events.p, events.n);
	}
	free(name);
	buf_free(&events);
	return e;
}
