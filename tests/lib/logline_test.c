/* logline_test - the measurements in lines of training logs. */
#include "log/logline.h"

#include "base/err.h"
#include "tap.h"

static void
measures(const char *line, uint64_t rank, uint64_t at, enum logline_measure m, double want)
{
	struct logline l;

	if (logline_parse(line, &l) != 1) {
		ok(0, "logline_parse() accepts: %s", line);
		return;
	}
	ok(l.rank == rank && l.at == at && l.has[m] && fabs(l.value[m] - want) < 1e-9, "%.60s: %g", line, l.value[m]);
}

static void
nothing(const char *line)
{
	struct logline l;

	is(logline_parse(line, &l), 0, "measures nothing: '%.40s'", line);
}

#define ANY LOGLINE_ANYONE

int
main(void)
{
	static const char row[] = "9.5\th\tworker\t2\tepoch\t4\t100\t500\t0.25\t0.75\t100.00\t0.1\t\t\t";
	struct logline l;

	measures("Epoch[3] Train-accuracy=0.52", ANY, 3, LOGLINE_TRAIN_ACCURACY, 0.52);
	measures("INFO:root:Iteration[0] Train-accuracy=0.523938", ANY, 0, LOGLINE_TRAIN_ACCURACY, 0.523938);
	measures("INFO:root:Epoch[12] Time cost=104.396", ANY, 12, LOGLINE_SECONDS, 104.396);
	measures("worker 1: Epoch[3] Validation-accuracy=0.600000", 1, 3, LOGLINE_VAL_ACCURACY, 0.6);
	measures("2015-11-02 10:11:12,345 Node[4] Epoch[0] Validation-accuracy=0.1", 4, 0, LOGLINE_VAL_ACCURACY, 0.1);
	measures("Epoch[1] Validation-cross-entropy=1.25", ANY, 1, LOGLINE_VAL_LOSS, 1.25);
	measures("Epoch[1] Train-loss=2", ANY, 1, LOGLINE_TRAIN_LOSS, 2);
	measures("INFO:root:Iter[0] Batch [5]\tSpeed: 175.98 samples/sec", ANY, 0, LOGLINE_SPEED, 175.98);
	measures("Epoch[2] Batch [20]\tSpeed: 99.5 samples/sec\tTrain-accuracy=0.9", ANY, 2, LOGLINE_SPEED, 99.5);
	measures("Epoch[0] Batch [0-20]\tSpeed: 12.00 samples/sec\taccuracy=0.9", ANY, 0, LOGLINE_SPEED, 12);
	is(logline_parse("Epoch[2] Batch [20]\tSpeed: 99.5 samples/sec\tTrain-accuracy=0.9", &l), 1, "a speed with a metric is parsed");
	ok(!l.has[LOGLINE_TRAIN_ACCURACY], "the metric after a speed is not the epoch's");
	is(logline_parse("Epoch[2] Train-accuracy=nan", &l), 1, "a NaN metric is parsed");
	ok(isnan(l.value[LOGLINE_TRAIN_ACCURACY]), "the metric is NaN");

	measures("worker 2: Epoch[1] Traffic rx=1024 tx=20 bytes", 2, 1, LOGLINE_RX, 1024);
	measures("Epoch[1] Traffic rx=1024 tx=20 bytes", ANY, 1, LOGLINE_TX, 20);
	measures("9\th\tworker\t0\tstep\t4\t7\t8\t0.3\t0.8\t\t\t\t100\t200", 0, 4, LOGLINE_RX_SO_FAR, 200);
	measures("9\th\tworker\t1\tstaleness\t4\t7\t\t\t\t\t\t\t\t\t\t\t\tall\t\t\t\t\t\t\t40\t1.5\t0\t3", 1, 4, LOGLINE_STALENESS, 1.5);
	nothing("9\th\tworker\t1\tstaleness\t4\t7\t\t\t\t\t\t\t\t\t\t\t\tbin\t\t\t\t\t\t\t20\t\t0\t0");
	measures("| 10 | 0.904931 | 0.867488 | 82.5 |", ANY, 10, LOGLINE_SECONDS, 82.5);
	measures("| 10 | 0.904931 | 0.867488 | 82.5 |", ANY, 10, LOGLINE_VAL_ACCURACY, 0.867488);
	measures("After 100 training steps (95 global steps), loss on training batch is 0.811832, accuracy .789062. (0.014 sec/batch)",
	    ANY, 100, LOGLINE_TRAIN_ACCURACY, 0.789062);
	measures("After 200 training steps (195 global steps), loss on training batch is 0.71, accuracy0.796875. (0.012 sec/batch)",
	    ANY, 200, LOGLINE_TRAIN_ACCURACY, 0.796875);
	measures("After 300 training steps (1 global steps), loss on training batch is 0.5, accuracy is 0.875. (0.012 sec/batch)",
	    ANY, 300, LOGLINE_SECONDS, 0.012);
	measures("After 300 training steps (1 global steps), loss on training batch is 0.5", ANY, 300, LOGLINE_TRAIN_LOSS, 0.5);

	measures(row, 2, 4, LOGLINE_TRAIN_ACCURACY, 0.75);
	measures(row, 2, 4, LOGLINE_TRAIN_LOSS, 0.25);
	measures(row, 2, 4, LOGLINE_SECONDS, 5);
	measures("9\th\tworker\t0\tvalidation\t4\t\t\t0.3\t0.8\t\t\t\t\t", 0, 4, LOGLINE_VAL_ACCURACY, 0.8);
	measures("9\th\tworker\t0\tvalidation\t4\t\t100\t0.3\t0.8\t50\t\t\t\t", 0, 4, LOGLINE_VAL_SECONDS, 2);
	measures("9\th\tworker\t0\tvalidation\t4\t\t\t0.3\t0.8\t\t\t\t\t\t\t\t\t\t\t\t0.95", 0, 4, LOGLINE_VAL_TOP5, 0.95);
	measures("9\th\tworker\t0\tepoch\t4\t\t\t0.3\t0.8\t\t\t\t\t\t\t\t\t\t\t\t0.9", 0, 4, LOGLINE_TRAIN_TOP5, 0.9);
	is(logline_parse("9\th\tworker\t0\tstep\t4\t7\t8\t0.3\t0.8\t\t\t\t\t", &l), 1, "a row of a step is parsed");
	ok(l.at == 4 && l.step == 7 && l.has[LOGLINE_TRAIN_LOSS] && !l.has[LOGLINE_RX_SO_FAR],
	    "a row of a step has its epoch, its step and measures");
	nothing("9\th\tworker\t0\tsave\t4\t7\t8\t\t\t\t\t\t\t");
	is(logline_parse("9\th\tworker\t0\tvalid", &l), ERR_FORMAT, "a truncated row is malformed");
	is_str(err_line(), "event: 'valid' is not an event", "the message names the cell");

	nothing("");
	nothing("time_s\thost\trole\trank\tevent");
	nothing("Epoch[x] Train-accuracy=0.5");
	nothing("Epoch[3] Train-accuracy=");
	nothing("Epoch[3] Train-accuracy=none");
	nothing("Epoch[3] Resetting Data Iterator");
	nothing("Epoch[99999999999999999999] Train-accuracy=0.5");
	nothing("| 1 | resnet110 | 128 | 1 | 0.818 | 12 | 96.9 | 520");
	nothing("| epoch | train accuracy | valid accuracy | time |");
	nothing("12 apples\tand\tpears");
	ok(logline_begins("```\n") && logline_begins("| epoch | train accuracy |") && logline_begins("session started"),
	    "a fence, a head and a session begin logs");
	ok(!logline_begins("Epoch[0] Train-accuracy=0.5"), "an epoch does not begin a log");
	return done();
}
