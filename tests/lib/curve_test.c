/* curve_test - measurements of logs by run, epoch and rank. */
#include "log/curve.h"

#include "base/err.h"
#include "tap.h"

static void
add_lines(struct curve *c, const char *const *lines)
{
	for (; *lines != NULL; lines++)
		if (curve_add_line(c, *lines) < 0)
			ok(0, "curve_add_line() accepts: %s", *lines);
}

static double
value(const struct curve_rows *r, size_t i, enum logline_measure m)
{
	return i < r->n && r->row[i].has[m] ? r->row[i].value[m] : -1;
}

static void
ranks(void)
{
	static const char *const lines[] = {
		"worker 1: Epoch[0] Train-accuracy=0.2", "worker 0: Epoch[0] Train-accuracy=0.4", "text",
		"worker 1: Epoch[1] Train-accuracy=0.6", "worker 0: Epoch[0] Batch [2]\tSpeed: 10 samples/sec",
		"worker 0: Epoch[0] Batch [4]\tSpeed: 20 samples/sec", "worker 0: Epoch[1] Train-accuracy=0.5",
		"worker 0: Epoch[1] Train-accuracy=0.8", "worker 0: Epoch[1] Validation-accuracy=0.7", NULL };
	struct curve c = { 0 };
	struct curve_rows r;
	struct buf text = { 0 };
	struct table t = { 0 };

	add_lines(&c, lines);
	is(curve_rows(&c, true, &r), 0, "curve_rows() makes rows by rank");
	ok(r.n == 4 && r.runs == 1, "each epoch and rank has a row");
	ok(r.row[0].at == 0 && r.row[0].rank == 0 && r.row[1].rank == 1 && r.row[2].at == 1, "rows are in order of epoch and rank");
	near(value(&r, 0, LOGLINE_SPEED), 15, 1e-9, "speeds are averaged");
	near(value(&r, 2, LOGLINE_TRAIN_ACCURACY), 0.8, 1e-9, "the last of a rank's values counts");
	curve_rows_free(&r);
	is(curve_rows(&c, false, &r), 0, "curve_rows() makes means of the ranks");
	is(r.n, 2, "each epoch has a row");
	near(value(&r, 0, LOGLINE_TRAIN_ACCURACY), 0.3, 1e-9, "epoch 0 has the mean of its ranks");
	near(value(&r, 1, LOGLINE_TRAIN_ACCURACY), 0.7, 1e-9, "epoch 1 has the mean of its ranks");
	near(value(&r, 1, LOGLINE_VAL_ACCURACY), 0.7, 1e-9, "a measure of one rank is not divided by all ranks");
	curve_table(&r, false, &t);
	is(table_put(&t, TABLE_TEXT, &text), 0, "the table is written");
	buf_terminate(&text);
	is_str((char *)text.p,
	    "epoch  train accuracy  val accuracy  samples/s\n"
	    "    0        0.300000             -       15.0\n"
	    "    1        0.700000      0.700000          -\n", "the table has the columns with data");
	table_free(&t);
	curve_rows_free(&r);
	curve_free(&c);
	buf_free(&text);
}

static void
runs(void)
{
	static const char *const lines[] = {
		"Epoch[0] Train-accuracy=0.1", "Epoch[1] Train-accuracy=0.2", "Epoch[0] Validation-accuracy=0.3",
		"Epoch[2] Train-accuracy=0.4", "Epoch[0] Train-accuracy=0.5", "```", "Epoch[0] Train-accuracy=0.6",
		"Epoch[0] Train-accuracy=0.8",
		"After 100 training steps (9 global steps), loss on training batch is 0.5",
		"After 100 training steps (9 global steps), loss on training batch is 0.7",
		"After 50 training steps (9 global steps), loss on training batch is 0.9", NULL };
	struct curve c = { 0 };
	struct curve_rows r;

	is(curve_rows(&c, true, &r), 0, "curve_rows() of an empty curve succeeds");
	ok(r.n == 0 && r.runs == 0, "an empty curve has no rows");
	add_lines(&c, lines);
	curve_rows(&c, false, &r);
	is(r.runs, 5, "the lines are five runs");
	is(r.n, 7, "the runs have seven rows");
	near(value(&r, 0, LOGLINE_VAL_ACCURACY), 0.3, 1e-9, "a line one epoch late belongs to the same run");
	ok(r.row[3].run == 1 && r.row[3].at == 0, "epochs that begin again are another run");
	near(value(&r, 4, LOGLINE_TRAIN_ACCURACY), 0.7, 1e-9, "a fence separates runs; lines without rank are averaged");
	ok(r.row[5].run == 3 && r.row[5].by_step && r.row[5].at == 100, "steps are not epochs");
	ok(r.row[6].run == 4 && r.row[6].at == 50, "steps that fall are another run");
	curve_rows_free(&r);
	curve_free(&c);
}

#define ROW(rank, event, epoch, step, sent, got) \
	"1\th\tworker\t" rank "\t" event "\t" epoch "\t" step "\t\t\t\t\t\t\t" sent "\t" got

static void
counters(void)
{
	static const char *const lines[] = {
		"# tally 0.1 tool=pworker host=h rank=0",
		ROW("0", "step", "0", "1", "10", "1"), ROW("1", "step", "0", "1", "12", "2"), ROW("0", "step", "0", "2", "20", "3"),
		ROW("0", "epoch", "0", "2", "30", "4"), ROW("1", "step", "0", "2", "50", "6"),
		ROW("0", "step", "1", "3", "100", "5"), ROW("1", "step", "1", "3", "60", "16"),
		ROW("0", "end", "", "3", "100", "5"), NULL };
	static const char *const steps[] = { "batch0 RX bytes:1000 TX bytes:2000", "batch2*3+1 RX bytes:1500 TX bytes:2001", NULL };
	struct curve c = { 0 };
	struct curve_rows r;

	add_lines(&c, lines);
	is(c.n, 8, "a counter has one item in an epoch");
	curve_rows(&c, true, &r);
	is(r.n, 4, "each epoch and rank has a row of counters");
	near(value(&r, 0, LOGLINE_TX), 30, 0, "rank 0 counts from 0 in its first epoch");
	near(value(&r, 1, LOGLINE_RX), 6, 0, "rank 1 counts from 0 in its first epoch");
	near(value(&r, 2, LOGLINE_TX), 70, 0, "rank 0 counts from the epoch before in its second");
	near(value(&r, 3, LOGLINE_RX), 10, 0, "rank 1 counts from the epoch before in its second");
	curve_rows_free(&r);
	curve_rows(&c, false, &r);
	near(value(&r, 1, LOGLINE_TX), 40, 0, "the mean of the ranks' counters is right");
	curve_rows_free(&r);
	curve_free(&c);
	add_lines(&c, steps);
	curve_rows(&c, false, &r);
	ok(r.n == 2 && value(&r, 0, LOGLINE_RX) < 0, "a counter by steps has no traffic at its first value");
	near(value(&r, 1, LOGLINE_RX), 500, 0, "the second value is a difference");
	ok(r.row[1].at == 7 && r.row[1].by_step, "the position of a counter by steps is a step");
	curve_rows_free(&r);
	curve_free(&c);
}

static void
names(void)
{
	static const char *const lines[] = {
		"| model | gpus | Accuracy | Epochs |", "| --- | --- | --- | --- |", "| a | 1 | 0.5 | 12 |", "| a | 2 | 0.6 | 12 |", "",
		"Epoch[0] Train-accuracy=0.1", "Epoch[4] Train-accuracy=0.1", "Epoch[0] Train-accuracy=0.1", NULL };
	static const char *const want[] = { "a 1", "a 2", "log", "log (2)" };
	struct curve c = { 0 };
	struct curve_rows r;
	struct table t = { 0 };
	struct buf text = { 0 };
	char name[LOGLINE_LABEL];

	curve_begin(&c, "log");
	add_lines(&c, lines);
	curve_rows(&c, false, &r);
	is(r.runs, 4, "the lines are four runs");
	for (uint32_t i = 0; i < 4 && i < r.runs; i++) {
		curve_name(&r, i, name);
		is_str(name, want[i], "run %u has its name", i + 1);
	}
	curve_compare(&r, "a file", &t);
	ok(table_put(&t, TABLE_TSV, &text) == 0 && buf_terminate(&text) == 0, "the comparison is written");
	is_str((char *)text.p, "run\tepochs\tbest_validation_accuracy\tbest_at\tlast_validation_accuracy\tlast_train_accuracy\n"
	    "a 1\t1\t0.5\t12\t0.5\t\na 2\t1\t0.6\t12\t0.6\t\n"
	    "log\t2\t\t\t\t0.1\nlog (2)\t1\t\t\t\t0.1\n", "the comparison has a line for each run");
	curve_rows_free(&r);
	curve_free(&c);
	table_free(&t);
	buf_free(&text);
}

/* The logs of two ranks, one after the other, of a run that was resumed.  Then the logs of other runs. */
static void
files(void)
{
#define HEAD(rank, workers) "# tally 0.1 tool=pworker host=a rank=" #rank " workers=" #workers " net=lenet"
#define EPOCH(rank, n) "1.0\ta\tworker\t" #rank "\tepoch\t" #n "\t\t10\t0.5\t0.25\t5\t\t\t\t"
	static const char *const one[] = { HEAD(0, 2), EPOCH(0, 0), EPOCH(0, 1), EPOCH(0, 2), HEAD(0, 2), EPOCH(0, 2), EPOCH(0, 3),
		HEAD(1, 2), EPOCH(1, 0), EPOCH(1, 1), EPOCH(1, 2), HEAD(1, 2), EPOCH(1, 2), EPOCH(1, 3), NULL };
	static const char *const two[] = { HEAD(1, 2), EPOCH(1, 0), HEAD(0, 2), EPOCH(0, 0), EPOCH(0, 1), NULL };
	static const char *const three[] = { HEAD(2, 3), EPOCH(2, 0), EPOCH(2, 1), EPOCH(2, 2), NULL };
	struct curve c = { 0 };
	struct curve_rows r;

	add_lines(&c, one);
	curve_rows(&c, true, &r);
	ok(r.runs == 1 && r.n == 8, "the logs of two ranks are one run");
	curve_rows_free(&r);
	add_lines(&c, two);
	curve_rows(&c, true, &r);
	ok(r.runs == 2 && r.n == 11 && r.row[8].run == 1, "a rank that begins again is another run");
	curve_rows_free(&r);
	add_lines(&c, two);
	add_lines(&c, three);
	curve_rows(&c, true, &r);
	is(r.runs, 4, "a log that begins again after one epoch is a new run, and so is one of more workers");
	curve_rows_free(&r);
	curve_free(&c);
	add_lines(&c, one);
	add_lines(&c, three);
	curve_rows(&c, true, &r);
	is(r.runs, 2, "a run with more workers is another, even if a new rank begins it");
	curve_rows_free(&r);
	curve_free(&c);
}

int
main(void)
{
	files();
	counters();
	names();
	ranks();
	runs();
	return done();
}
