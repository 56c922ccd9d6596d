/* curve_test - lines of logs into figures by epoch. */
#include "run/curve.h"

#include "base/err.h"
#include "tap.h"

static void
take(struct curve *c, const char *const *lines)
{
	for (; *lines != NULL; lines++)
		if (curve_take(c, *lines) < 0)
			ok(0, "taken: %s", *lines);
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

	take(&c, lines);
	is(curve_rows(&c, true, &r), 0, "rows by rank");
	ok(r.n == 4 && r.runs == 1, "... an epoch and rank each");
	ok(r.row[0].at == 0 && r.row[0].rank == 0 && r.row[1].rank == 1 && r.row[2].at == 1, "... in order");
	near(value(&r, 0, LOGLINE_SPEED), 15, 1e-9, "speeds are averaged");
	near(value(&r, 2, LOGLINE_TRAIN_ACCURACY), 0.8, 1e-9, "what a rank says again, counts");
	curve_rows_free(&r);
	is(curve_rows(&c, false, &r), 0, "the mean of the ranks");
	is(r.n, 2, "... an epoch each");
	near(value(&r, 0, LOGLINE_TRAIN_ACCURACY), 0.3, 1e-9, "... of the first");
	near(value(&r, 1, LOGLINE_TRAIN_ACCURACY), 0.7, 1e-9, "... of the second");
	near(value(&r, 1, LOGLINE_VAL_ACCURACY), 0.7, 1e-9, "what only one says, is not shared");
	is(curve_table(&r, false, &text), 0, "a table");
	buf_terminate(&text);
	is_str((char *)text.p,
	    "  epoch  train accuracy  validation accuracy  samples/s\n"
	    "      0          0.3000                    -       15.0\n"
	    "      1          0.7000               0.7000          -\n", "... aligned, with the columns that are used");
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

	is(curve_rows(&c, true, &r), 0, "nothing taken");
	ok(r.n == 0 && r.runs == 0, "... gives nothing");
	take(&c, lines);
	curve_rows(&c, false, &r);
	is(r.runs, 5, "runs");
	is(r.n, 7, "rows");
	near(value(&r, 0, LOGLINE_VAL_ACCURACY), 0.3, 1e-9, "a line one epoch late is of its run");
	ok(r.row[3].run == 1 && r.row[3].at == 0, "epochs that begin again are another run");
	near(value(&r, 4, LOGLINE_TRAIN_ACCURACY), 0.7, 1e-9, "a fence parts runs; nobody's lines are averaged");
	ok(r.row[5].run == 3 && r.row[5].by_step && r.row[5].at == 100, "steps are not epochs");
	ok(r.row[6].run == 4 && r.row[6].at == 50, "steps that fall are another run");
	curve_rows_free(&r);
	curve_free(&c);
}

int
main(void)
{
	ranks();
	runs();
	return done();
}
