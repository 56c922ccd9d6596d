/* log - writes the events of training as rows on stdout and as lines on stderr. */
#include "pworker/log.h"
#include "front.h"
#include "front_progress.h"
#include "front_wait.h"

#include "base/clk.h"
#include "base/err.h"
#include "base/io.h"
#include "ps/peer_traffic_row.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
write_text(const struct pworker_log *l, const struct buf *text)
{
	if (l->rows == NULL)
		return;
	if (isatty(fileno(l->rows)))
		progress_clear();
	fwrite(text->p, 1, text->n, l->rows);
}

static void
put_log_row(const struct pworker_log *l, const struct tsv_row *r)
{
	struct buf line = { 0 };

	if (tsv_put(&line, r) == 0)
		write_text(l, &line);
	buf_free(&line);
}

/* Returns true if rows cannot be written, and warns once. */
static bool
flush_rows(const struct pworker_log *l)
{
	if (l->rows == NULL || l->rows == stdout)
		return front_log_lost();
	if (!l->lost && (fflush(l->rows) != 0 || ferror(l->rows))) {
		front_warn("--log", err_sys("write"));
		return true;
	}
	return l->lost;
}

/* Writes the traffic since the previous rows of it.  *in and *out do not count the start of the job. */
static void
log_traffic(struct pworker_log *l, const struct train_event *ev, uint64_t *in, uint64_t *out)
{
	struct tsv_row r = tsv_blank(TSV_TRAFFIC, TSV_WORKER, l->rank, l->host);
	struct buf text = { 0 };
	int e = 0;

	*in = *out = 0;
	if (l->before == NULL && (l->before = calloc(ev->peers, sizeof(*l->before))) == NULL)
		front_die(NULL, err_nomem());
	r.time_s = clk_s() - l->began;
	r.step = ev->step;
	if (ev->kind == TRAIN_EPOCH)
		r.epoch = ev->epoch;
	for (uint32_t s = 0; s < ev->peers && e == 0; s++) {
		struct peer_traffic t = peer_traffic_since(&l->before[s], &ev->traffic[s]);

		l->before[s] = ev->traffic[s];
		snprintf(r.peer, sizeof(r.peer), "server %" PRIu32, s);
		e = peer_traffic_row_put(&text, &r, &t);
		*in += peer_traffic_steps(&t, PEER_TRAFFIC_RECEIVED);
		*out += peer_traffic_steps(&t, PEER_TRAFFIC_SENT);
		if (ev->kind == TRAIN_START) {
			l->received += t.payload[PEER_TRAFFIC_RECEIVED][PEER_TRAFFIC_START] +
			    t.messages[PEER_TRAFFIC_RECEIVED][PEER_TRAFFIC_START] * MSG_HEAD;
			l->sent += t.payload[PEER_TRAFFIC_SENT][PEER_TRAFFIC_START] +
			    t.messages[PEER_TRAFFIC_SENT][PEER_TRAFFIC_START] * MSG_HEAD;
		}
	}
	if (ev->kind != TRAIN_START && e == 0)
		e = peer_traffic_row_put_all(&text, &r, *in, *out);
	front_must(NULL, e);
	write_text(l, &text);
	buf_free(&text);
}

/* Writes how far behind gradients were: a row for all, and one for each bin that has some. */
static void
log_staleness(struct pworker_log *l, const struct train_event *ev)
{
	struct tsv_row r = tsv_blank(TSV_STALENESS, TSV_WORKER, l->rank, l->host);
	const struct staleness *s = &ev->staleness;
	uint32_t from, to;

	if (s->n == 0)
		return;
	r.time_s = clk_s() - l->began;
	r.step = ev->step;
	if (ev->kind == TRAIN_EPOCH)
		r.epoch = ev->epoch;
	snprintf(r.class, sizeof(r.class), "all");
	r.updates = s->n;
	r.staleness = (double)s->sum / (double)s->n;
	r.staleness_min = s->least;
	r.staleness_max = s->most;
	put_log_row(l, &r);
	snprintf(r.class, sizeof(r.class), "bin");
	r.staleness = TSV_VOID;
	for (uint32_t i = 0; i < STALENESS_BINS; i++) {
		staleness_bin(i, &from, &to);
		r.updates = s->bin[i];
		r.staleness_min = from;
		r.staleness_max = to;
		if (s->bin[i] > 0)
			put_log_row(l, &r);
	}
}

/* Writes a row for each device whose load is known. */
static void
log_devices(struct pworker_log *l, const struct train_event *ev)
{
	for (uint32_t k = 0; l->gpus != NULL && k < l->places; k++) {
		struct tsv_row r = tsv_blank(TSV_LOAD, TSV_WORKER, l->rank, l->host);

		r.time_s = clk_s() - l->began;
		r.step = ev->step;
		if (ev->kind == TRAIN_EPOCH)
			r.epoch = ev->epoch;
		snprintf(r.device, sizeof(r.device), "%s", l->place[k].name);
		if (gpuload_read(l->gpus, k, &r.device_load, &r.device_bytes) == 0)
			put_log_row(l, &r);
	}
}

static void
open_gpus(struct pworker_log *l, const struct train_event *ev)
{
	const char *bus[SPLIT_MOST];

	l->places = ev->places;
	for (uint32_t k = 0; k < ev->places; k++) {
		l->place[k] = ev->place[k];
		bus[k] = l->place[k].bus;
	}
	if (ev->places > 0 && gpuload_open(bus, ev->places, &l->gpus) < 0)
		l->gpus = NULL;
}

void
pworker_log_close(struct pworker_log *l)
{
	gpuload_close(l->gpus);
	lr_find_free(&l->rates);
	free(l->before);
	if (l->rows != NULL && l->rows != stdout && fclose(l->rows) != 0 && !l->lost)
		front_warn("--log", err_sys("close"));
}

/* Writes the load since the previous row of it. */
static void
log_load(struct pworker_log *l, const struct train_event *ev)
{
	struct tsv_row r = tsv_blank(TSV_LOAD, TSV_WORKER, l->rank, l->host);
	struct load now = load_now();

	r.time_s = clk_s() - l->began;
	r.step = ev->step;
	if (ev->kind == TRAIN_EPOCH)
		r.epoch = ev->epoch;
	r.cpu = load_process(&l->load, &now);
	r.host_load = load_host(&l->load, &now);
	l->load = now;
	put_log_row(l, &r);
	log_devices(l, ev);
}

static void
log_event_row(struct pworker_log *l, const struct train_event *ev)
{
	static const enum tsv_event kind[] = { [TRAIN_START] = TSV_START, [TRAIN_STEP] = TSV_STEP,
	    [TRAIN_EPOCH] = TSV_EPOCH, [TRAIN_VALIDATION] = TSV_VALIDATION, [TRAIN_SAVE] = TSV_SAVE,
	    [TRAIN_END] = TSV_END };
	struct tsv_row r = tsv_blank(kind[ev->kind], TSV_WORKER, l->rank, l->host);

	if (l->finds && ev->kind == TRAIN_STEP)
		r.event = TSV_SWEEP;
	r.time_s = clk_s() - l->began;
	r.step = ev->step;
	if (ev->kind != TRAIN_END)
		r.epoch = ev->epoch;
	if (ev->kind == TRAIN_STEP || ev->kind == TRAIN_EPOCH || ev->kind == TRAIN_VALIDATION) {
		r.samples = ev->samples;
		r.loss = ev->loss;
		r.accuracy = ev->accuracy;
		r.top5_accuracy = ev->top5;
		if (ev->seconds > 0)
			r.samples_per_s = (double)(ev->samples - ev->before) / ev->seconds;
		r.wait_s = ev->waited_s;
	}
	if (ev->kind == TRAIN_STEP || ev->kind == TRAIN_EPOCH)
		r.lr = ev->rate;
	if (ev->kind != TRAIN_START && ev->kind != TRAIN_SAVE) {
		r.sent_bytes = ev->sent;
		r.received_bytes = ev->received;
	}
	if (ev->kind == TRAIN_STEP && l->before != NULL) {
		r.rx_bytes = ev->received - l->received;
		r.tx_bytes = ev->sent - l->sent;
		l->received = ev->received;
		l->sent = ev->sent;
	}
	if (ev->kind == TRAIN_EPOCH && l->before != NULL) {
		r.rx_bytes = l->epoch_received;
		r.tx_bytes = l->epoch_sent;
	}
	put_log_row(l, &r);
}

/* Whether this worker writes a row; one worker writes the figures of all. */
static bool
has_row(const struct pworker_log *l, const struct train_event *ev)
{
	switch (ev->kind) {
	case TRAIN_BAD: case TRAIN_BEST: case TRAIN_EARLY: case TRAIN_FROM: case TRAIN_CACHE: case TRAIN_WAIT:
	case TRAIN_REMARK: case TRAIN_UNSAVED: case TRAIN_NO_CUT: case TRAIN_KERNELS: case TRAIN_WORKERS:
	case TRAIN_BATCHES: case TRAIN_SET: case TRAIN_UNTIDY:
		return false;
	case TRAIN_START:
		return !ev->again;
	case TRAIN_EPOCH: case TRAIN_VALIDATION:
		return pworker_log_speaks(l) && !l->finds;
	default:
		return true;
	}
}

/* Appends a value of the head, without blanks; NULL: nothing. */
static int
put_value(struct buf *b, const char *key, const char *value)
{
	size_t at;

	if (value == NULL || *value == 0)
		return 0;
	ERR_TRY(buf_put_fmt(b, " %s=", key));
	at = b->n;
	ERR_TRY(buf_put(b, value, strlen(value)));
	for (; at < b->n; at++)
		if (b->p[at] <= ' ')
			b->p[at] = '_';
	return 0;
}

/* The head names all that a run depends on and that options need not say. */
static void
print_log_head(const struct pworker_log *l, uint64_t epoch_steps, const char *device)
{
	const struct train_opt *t = l->train;
	/* If steps end the run, it has as many epochs as they take. */
	uint64_t ends = l->finds ? l->steps : t->updates / l->nworkers;
	uint64_t epochs = l->epochs == UINT32_MAX && epoch_steps > 0 ? (ends + epoch_steps - 1) / epoch_steps :
	    l->epochs;
	struct buf b = { 0 };
	int e = buf_put_fmt(&b, "# tally %s tool=pworker host=%s rank=%" PRIu32 " workers=%" PRIu32 " net=%s engine=%s"
	    " epochs=%" PRIu64 " epoch_steps=%" PRIu64 " steps=%" PRIu64, TALLY_VERSION, l->host, l->rank, l->nworkers,
	    l->net, l->engine, epochs, epoch_steps, l->steps);

	if (e == 0)
		e = put_value(&b, "device", device);
	if (e == 0)
		e = buf_put_fmt(&b, " seed=%" PRIu64 " batch=%" PRIu32 " lr=%g init=%s", t->seed, t->data.batch,
		    t->sched.base, t->init);
	if (e == 0 && (e = put_value(&b, "data", t->data.path)) == 0 && (e = put_value(&b, "val", t->val)) == 0 &&
	    (e = put_value(&b, "net_options", l->net_options)) == 0)
		e = buf_put_fmt(&b, " command=%s\n", l->command);
	if (e < 0 || (e = tsv_head(&b)) < 0)
		front_die(NULL, e);
	write_text(l, &b);
	buf_free(&b);
}

static void
log_comment(const struct pworker_log *l, const char *what, const char *text)
{
	struct buf b = { 0 };

	if (buf_put_fmt(&b, "# %s%s\n", what, text) == 0)
		write_text(l, &b);
	buf_free(&b);
}

void
pworker_log_open(struct pworker_log *l, const char *path, bool append)
{
	char name[4096], rank[16] = "";

	l->rows = isatty(STDOUT_FILENO) ? NULL : stdout;
	if (path == NULL)
		return;
	if (strcmp(path, "-") == 0)
		front_wrong("--log: needs a file; without --log, rows go to standard output if that is no terminal");
	if (l->nworkers > 1)
		snprintf(rank, sizeof(rank), ".%" PRIu32, l->rank);
	if (snprintf(name, sizeof(name), "%s%s", path, rank) >= (int)sizeof(name))
		front_wrong("--log: the path is longer than %zu bytes", sizeof(name) - 1);
	front_wait_write(name);
	if ((l->rows = fopen(name, append ? "ae" : "we")) == NULL)
		front_die(name, io_create_failed(name));
	front_wait_end();
}

/* A batch whose loss is NaN is left out, which is no reason for a warning here. */
static void
note_rate(struct pworker_log *l, const struct train_event *ev)
{
	int e = 1;

	if (ev->kind == TRAIN_STEP && !l->found && (e = lr_find_add(&l->rates, ev->rate, ev->loss)) < 0)
		front_die("--lr-find", e);
	l->found |= e == 0;
	if (ev->kind == TRAIN_FROM || ev->kind == TRAIN_WAIT || ev->kind == TRAIN_REMARK)
		pworker_log_say(l, ev);
}

void
pworker_log_event(void *arg, const struct train_event *ev)
{
	struct pworker_log *l = arg;
	char set[32];

	switch (ev->kind) {
	case TRAIN_START:
		if (!ev->again)
			print_log_head(l, ev->batch, ev->text);
		l->load = load_now();
		open_gpus(l, ev);
		if (ev->peers > 0)
			log_traffic(l, ev, &l->epoch_received, &l->epoch_sent);
		break;
	case TRAIN_EPOCH:
	case TRAIN_END:
		if (ev->peers > 0)
			log_traffic(l, ev, &l->epoch_received, &l->epoch_sent);
		log_staleness(l, ev);
		log_load(l, ev);
		break;
	case TRAIN_KERNELS:
	case TRAIN_WORKERS:
		log_comment(l, "", ev->text);
		break;
	case TRAIN_SET:
		snprintf(set, sizeof(set), "set %" PRIu64 ":", ev->samples);
		log_comment(l, set, ev->text);
		break;
	case TRAIN_BATCHES:
		if (l->rank == 0)
			log_comment(l, "", ev->text);
		break;
	default:
		break;
	}
	/* A worker that joins an elastic job near the end of an epoch may have none of its batches. */
	if (ev->kind == TRAIN_EPOCH && l->train->ps.elastic > 0 && ev->samples == 0)
		return;
	if (l->finds)
		note_rate(l, ev);
	else
		pworker_log_say(l, ev);
	if (has_row(l, ev))
		log_event_row(l, ev);
	l->lost = flush_rows(l);
	pworker_log_progress(l, ev);
	if (l->gpus != NULL)
		gpuload_sample(l->gpus, clk_s());
}
