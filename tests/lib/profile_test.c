/* profile_test - the rows of a profile: written, read back, and refused. */
#include "log/profile.h"

#include "base/err.h"
#include "tap.h"

static const struct profile_whole whole = { .step_s = 0.5, .flops_per_s = 200e9, .bytes_per_s = 20e9 };

static void
written(void)
{
	const struct profile_row conv = { "conv1", "forward", 0.125, 12.5e9, 250e6 }, all = { "all", "step", 0.5, 0, 0 };
	struct buf out = { 0 };

	is(profile_head(&out), 0, "the column names");
	is(profile_put(&out, &conv, &whole), 0, "a row");
	is(profile_put(&out, &all, &whole), 0, "a row without operations and bytes");
	buf_terminate(&out);
	is_str((char *)out.p,
	    "layer\tdirection\tstep_ms\tstep_share\tgflops_per_s\tbytes\tgb_per_s\tproduct_share\tmemory_share\n"
	    "conv1\tforward\t125\t0.25\t100\t250000000\t2\t0.5\t0.1\n"
	    "all\tstep\t500\t1\t\t\t\t\t\n", "rows have rates, shares and empty cells");
	buf_free(&out);
}

static void
read_back(void)
{
	struct table t = { 0 };
	struct buf out = { 0 };

	profile_columns(&t);
	is(profile_read("# tally 0.1 tool=pworker\n", &t), 0, "a comment is skipped");
	is(profile_read("layer\tdirection\tstep_ms\tmore\n", &t), 0, "the column names are skipped");
	is(profile_read("\n", &t), 0, "an empty line is skipped");
	is(profile_read("conv1\tforward\t125\t0.25\t100\t250000000\t2\t0.5\t0.1\n", &t), 1, "a row is read");
	is(profile_read("all\tstep\t500\t1\t\t\t\t\t", &t), 1, "a row with empty cells is read, without a newline too");
	is(profile_read("a\tb\t1\t1\t\t\t\t\t\tnew", &t), 1, "cells after the last column are ignored");
	is(table_put(&t, TABLE_CSV, &out), 0, "the table");
	buf_terminate(&out);
	is_str((char *)out.p, "layer,direction,step_ms,step_share,gflops_per_s,bytes,gb_per_s,product_share,memory_share\n"
	    "conv1,forward,125,0.25,100,250000000,2,0.5,0.1\nall,step,500,1,,,,,\na,b,1,1,,,,,\n",
	    "the table has the rows");
	buf_free(&out);
	table_free(&t);
}

static void
refused(void)
{
	static const char *const bad[] = { "conv1\tforward\t125", "conv1", "a\tb\tfast\t1\t\t\t\t\t", "a\tb\t-1\t1\t\t\t\t\t",
		"a\tb\tnan\t1\t\t\t\t\t" };
	struct table t = { 0 };

	profile_columns(&t);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		is(profile_read(bad[i], &t), ERR_FORMAT, "'%s' is refused", bad[i]);
		ok(strstr(err_line(), i == 0 ? "step_ms" : i == 1 ? "layer" : "step_ms") != NULL, "the message names the column");
	}
	is(t.cells, 0, "a refused row adds no cells");
	table_free(&t);
}

int
main(void)
{
	written();
	read_back();
	refused();
	return done();
}
