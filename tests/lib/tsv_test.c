/* tsv_test - rows of a log are formatted and parsed back. */
#include "log/tsv.h"

#include "base/err.h"
#include "tap.h"

static const char head[] = "time_s\thost\trole\trank\tevent\tepoch\tstep\tsamples\tloss\taccuracy\tsamples_per_s\tlr\twait_s\t"
	"sent_bytes\treceived_bytes\trx_bytes\ttx_bytes\tpeer\tclass\tcpu\thost_load\ttop5_accuracy\tdevice\tdevice_load\tdevice_bytes\t"
	"updates\tstaleness\tstaleness_min\tstaleness_max\n";

static const char *
text(const struct tsv_row *r, struct buf *b)
{
	b->n = 0;
	if (tsv_put(b, r) < 0 || buf_terminate(b) < 0)
		return NULL;
	return (const char *)b->p;
}

static void
written(void)
{
	struct tsv_row r = tsv_blank(TSV_SAVE, TSV_WORKER, 3, "a\tb\n");
	struct buf b = { 0 };

	is(tsv_head(&b), 0, "tsv_head() succeeds");
	buf_terminate(&b);
	is_str((char *)b.p, head, "the head has the columns of log(5)");
	r.time_s = 1.25;
	is_str(text(&r, &b), "1.250\ta?b?\tworker\t3\tsave\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\n",
	    "cells that do not apply are empty, and a host cannot break the line");
	r = tsv_blank(TSV_STEP, TSV_SERVER, 0, "h");
	r.epoch = 0;
	r.step = 7;
	r.samples = 128;
	r.loss = NAN;
	r.accuracy = 0.5;
	r.samples_per_s = 175.984;
	r.lr = 0.1f;
	r.wait_s = 0;
	r.sent_bytes = 6611304;
	r.received_bytes = 0;
	r.rx_bytes = 10;
	r.tx_bytes = 20;
	strcpy(r.peer, "server 0");
	strcpy(r.class, "gradients");
	r.top5_accuracy = 0.75;
	r.cpu = 1.999;
	r.host_load = 0.25;
	strcpy(r.device, "gpu:1");
	r.device_load = 0.5;
	r.device_bytes = 17;
	r.updates = 40;
	r.staleness = 1.5;
	r.staleness_min = 0;
	r.staleness_max = 3;
	is_str(text(&r, &b), "0.000\th\tserver\t0\tstep\t0\t7\t128\tnan\t0.500000\t175.98\t0.100000001\t0.000\t"
	    "6611304\t0\t10\t20\tserver 0\tgradients\t2.00\t0.250\t0.750000\tgpu:1\t0.500\t17\t40\t1.500\t0\t3\n",
	    "a full row has every cell, and a NaN loss is nan");
	buf_free(&b);
}

static void
read_back(void)
{
	struct tsv_row r = tsv_blank(TSV_VALIDATION, TSV_WORKER, 1, "host.example"), q;
	struct buf b = { 0 };

	r.time_s = 12.5;
	r.epoch = 2;
	r.step = UINT64_MAX - 1;
	r.loss = 0.75;
	r.accuracy = 1;
	r.lr = 0.05f;
	is(tsv_parse(text(&r, &b), &q), 1, "a row is parsed back");
	is_str(q.host, r.host, "the host is the same");
	ok(q.role == r.role && q.rank == 1 && q.event == r.event, "role, rank and event are the same");
	ok(q.epoch == 2 && q.step == r.step && q.samples == TSV_NONE, "counts are the same");
	ok(q.time_s == 12.5 && q.loss == 0.75 && q.accuracy == 1 && (float)q.lr == 0.05f, "measures are the same");
	ok(q.samples_per_s == TSV_VOID && q.wait_s == TSV_VOID && q.sent_bytes == TSV_NONE, "empty cells do not apply");
	r.loss = INFINITY;
	is(tsv_parse(text(&r, &b), &q), 1, "a row with an infinite loss is parsed");
	ok(isinf(q.loss), "the loss is infinite");
	strcpy(r.peer, "server 1");
	strcpy(r.class, "wire");
	r.rx_bytes = 5;
	r.top5_accuracy = 0.5;
	is(tsv_parse(text(&r, &b), &q), 1, "a row of traffic is parsed");
	ok(q.rx_bytes == 5 && q.tx_bytes == TSV_NONE && strcmp(q.peer, "server 1") == 0 && strcmp(q.class, "wire") == 0 &&
	    q.top5_accuracy == 0.5, "all cells of a row of traffic are parsed");
	ok(q.cpu == TSV_VOID && q.host_load == TSV_VOID, "a row of traffic has no load");
	r.cpu = 0.5;
	r.host_load = 1;
	ok(tsv_parse(text(&r, &b), &q) == 1 && q.cpu == 0.5 && q.host_load == 1, "a row of load is parsed");
	strcpy(r.device, "gpu:0");
	r.device_load = 0.25;
	r.device_bytes = 9;
	ok(tsv_parse(text(&r, &b), &q) == 1 && strcmp(q.device, "gpu:0") == 0 && q.device_load == 0.25 && q.device_bytes == 9,
	    "the load of a device is parsed");
	is(tsv_parse("1\th\tworker\t0\tend\t\t\t\t\t\t\t\t\t1\t2", &q), 1, "a row of an older log is parsed");
	ok(q.received_bytes == 2 && q.rx_bytes == TSV_NONE && q.peer[0] == 0 && q.top5_accuracy == TSV_VOID,
	    "the missing cells of an older row do not apply");
	is(tsv_parse("1\th\tworker\t0\tend\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\tnew\tcells\r\n", &q), 1,
	    "cells of later versions are ignored");
	buf_free(&b);
}

static void
not_rows(void)
{
	struct tsv_row r;
	char wide[2048] = "1\t";

	is(tsv_parse(head, &r), 0, "column names are not a row");
	is(tsv_parse("# tally 0.1 tool=pworker\n", &r), 0, "a comment is not a row");
	is(tsv_parse("", &r), 0, "an empty line is not a row");
	is(tsv_parse("\r\n", &r), 0, "an empty line with its end is not a row");
	ok(tsv_is_head(head) && tsv_is_head("# tally") && !tsv_is_head("1\th"), "tsv_is_head() recognizes heads");
	is(tsv_parse("1\th\tworker\t0\tstep\t\t\t\n", &r), ERR_FORMAT, "a row that ends early is malformed");
	is_str(err_line(), "ends after the column samples", "the message names the last column");
	is(tsv_parse("1\th\tworker\t0\tnap\t\t\t\t\t\t\t\t\t\t\n", &r), ERR_FORMAT, "an unknown event is malformed");
	is_str(err_line(), "event: 'nap' is not an event", "the message quotes the event");
	is(tsv_parse("1\th\tboss\t0\tstep\t\t\t\t\t\t\t\t\t\t\n", &r), ERR_FORMAT, "an unknown role is malformed");
	is(tsv_parse("-1\th\tworker\t0\tstep\t\t\t\t\t\t\t\t\t\t\n", &r), ERR_LIMIT, "a negative measure is out of range");
	is(tsv_parse("1\th\tworker\tx\tstep\t\t\t\t\t\t\t\t\t\t\n", &r), ERR_FORMAT, "a rank must be a number");
	memset(wide + 2, 'h', sizeof(wide) - 3);
	is(tsv_parse(wide, &r), ERR_LIMIT, "a cell of 2 KB is over the limit");
}

int
main(void)
{
	written();
	read_back();
	not_rows();
	return done();
}
