/* merge_test - means, statistics, joins and splits of files of tensors against numbers worked out by hand. */
#include "base/err.h"
#include "base/io.h"
#include "net/measure.h"
#include "net/merge/merge.h"
#include "tap.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

static char dir[] = "/tmp/tally.XXXXXX";
static char file[8][64];	/* a b c out ... */

static void
write_file(const char *path, const struct tensor *x, size_t n, const void *data, size_t bytes, const char *graph)
{
	struct tensors t = { .kind = TENSORS_SAFE };
	struct tensors_out *o;

	for (size_t i = 0; i < n; i++)
		tensors_add(&t, x[i].name, &x[i]);
	if (graph != NULL)
		tensors_add_meta(&t, "graph", graph);
	tensors_add_meta(&t, "epoch", "3");
	if (tensors_create(path, &t, &o) < 0 || tensors_write(o, data, bytes) < 0 || tensors_commit(o) < 0)
		printf("Bail out! %s\n", err_line());
	tensors_close(&t);
}

#define NAME(s) (char *)(uintptr_t)(s)

/* w [2], the statistics of one channel, a count, and momentum. */
static void
write_net(const char *path, float w0, float w1, float mean, float var, int32_t count)
{
	const struct tensor x[] = {
		{ .name = NAME("w"), .ndim = 1, .dim = { 2 } }, { .name = NAME("bn_moving_mean"), .ndim = 1, .dim = { 1 } },
		{ .name = NAME("bn_moving_var"), .ndim = 1, .dim = { 1 } },
		{ .name = NAME("count"), .type = TENSORS_I32, .ndim = 1, .dim = { 1 } },
		{ .name = NAME("w:momentum"), .ndim = 1, .dim = { 2 } },
	};
	float f[7] = { w0, w1, mean, var, 0, 9, 9 };

	memcpy(&f[4], &count, sizeof(count));
	write_file(path, x, 5, f, sizeof(f), "a graph");
}

static float
number(const char *path, const char *name, uint64_t at)
{
	struct tensors t;
	const struct tensor *x;
	float v = NAN;

	if (tensors_open(&t, path) < 0)
		return NAN;
	if ((x = tensors_find(&t, name)) != NULL && at < x->count)
		tensors_read(&t, x, at, 1, &v);
	tensors_close(&t);
	return v;
}

static bool
has(const char *path, const char *name, const char *meta)
{
	struct tensors t;
	bool there = tensors_open(&t, path) == 0 && (name == NULL || tensors_find(&t, name) != NULL) &&
	    (meta == NULL || tensors_meta(&t, meta) != NULL);

	tensors_close(&t);
	return there;
}

static void
means(void)
{
	char *in[] = { file[0], file[1] };
	const double share[] = { 0.75, 0.25 };
	struct merge_opt o = { .path = in, .n = 2, .share = share };

	write_net(file[0], 1, 2, 0, 1, 5);
	write_net(file[1], 5, -2, 4, 3, 5);
	is(merge_run(&o, file[3]), 0, "a weighted mean: %s", err_line());
	near(number(file[3], "w", 0), 2, 0, "the first number is the weighted mean");
	near(number(file[3], "w", 1), 1, 0, "the second number is the weighted mean");
	near(number(file[3], "bn_moving_mean", 0), 1, 0, "the running mean is the weighted mean");
	/* 0.75 (1 + 1) + 0.25 (3 + 9) */
	near(number(file[3], "bn_moving_var", 0), 4.5, 0, "the merged variance is that of all data");
	ok(!has(file[3], "w:momentum", NULL), "a mean has no optimizer state");
	ok(has(file[3], NULL, "graph") && !has(file[3], NULL, "epoch"), "a mean has the graph, and not the first file's position");
	write_net(file[1], 5, -2, 4, 3, 6);
	is(merge_run(&o, file[3]), ERR_FORMAT, "whole numbers that differ: %s", err_line());
	ok(strstr(err_line(), file[1]) != NULL && strstr(err_line(), "'count'") != NULL,
	    "the error names file and tensor");
	o.drop = (char *[]){ NAME("count") };
	o.ndrop = 1;
	o.state = true;
	is(merge_run(&o, file[3]), 0, "dropped, the rest is merged: %s", err_line());
	ok(!has(file[3], "count", NULL) && has(file[3], "w:momentum", NULL),
	    "the dropped tensor is missing and the others are there");
	ok(!has(file[3], NULL, "graph"), "a selection has no graph");
}

/* What a mean leaves out: files without weight, and means that are not those of a variance. */
static void
left_out(void)
{
	const struct tensor x[] = { { .name = NAME("bn_moving_mean"), .ndim = 1, .dim = { 2 } },
		{ .name = NAME("bn_moving_var"), .ndim = 1, .dim = { 2 } } };
	const struct tensor odd[] = { { .name = NAME("bn_moving_mean"), .ndim = 1, .dim = { 1 } },
		{ .name = NAME("bn_moving_var"), .ndim = 1, .dim = { 3 } } };
	const float a[] = { 1, 2, 3, 4 }, b[] = { INFINITY, NAN, 7, NAN }, c[] = { 9, 5, 7, 9 };
	char *in[] = { file[0], file[1] };
	struct merge_opt o = { .path = in, .n = 2, .share = (const double[]){ 1, 0 } };

	write_file(file[0], x, 2, a, sizeof(a), NULL);
	write_file(file[1], x, 2, b, sizeof(b), NULL);
	is(merge_run(&o, file[3]), 0, "a file with weight 0: %s", err_line());
	ok(number(file[3], "bn_moving_mean", 0) == 1 && number(file[3], "bn_moving_mean", 1) == 2 &&
	    number(file[3], "bn_moving_var", 0) == 3 && number(file[3], "bn_moving_var", 1) == 4,
	    "NaN and infinite numbers of a file with weight 0 do not count");
	o.share = (const double[]){ 0.5, 0.5 };
	write_file(file[0], odd, 2, a, sizeof(a), NULL);
	write_file(file[1], odd, 2, c, sizeof(c), NULL);
	is(merge_run(&o, file[3]), 0, "means of another shape than the variance: %s", err_line());
	ok(number(file[3], "bn_moving_mean", 0) == 5 && number(file[3], "bn_moving_var", 0) == 3.5f &&
	    number(file[3], "bn_moving_var", 2) == 6.5f, "a variance without means of its shape has a plain mean");
}

static void
differences(void)
{
	const struct tensor two = { .name = NAME("w"), .ndim = 1, .dim = { 2 } }, wide = { .name = NAME("w"), .ndim = 2,
		.dim = { 1, 2 } }, other = { .name = NAME("v"), .ndim = 1, .dim = { 2 } },
		half = { .name = NAME("w"), .type = TENSORS_F16, .ndim = 1, .dim = { 2 } };
	const float v[2] = { 1, 2 };
	char *in[] = { file[0], file[1] };
	const double share[] = { 0.5, 0.5 };
	struct merge_opt o = { .path = in, .n = 2, .share = share };

	write_file(file[0], &two, 1, v, 8, NULL);
	write_file(file[1], &wide, 1, v, 8, NULL);
	is(merge_run(&o, file[3]), ERR_FORMAT, "another shape: %s", err_line());
	write_file(file[1], &other, 1, v, 8, NULL);
	is(merge_run(&o, file[3]), ERR_FORMAT, "another name: %s", err_line());
	write_file(file[1], &half, 1, v, 4, NULL);
	is(merge_run(&o, file[3]), ERR_FORMAT, "another type: %s", err_line());
	write_file(file[1], (const struct tensor[]){ two, other }, 2, (const float[]){ 1, 2, 3, 4 }, 16, NULL);
	is(merge_run(&o, file[3]), ERR_FORMAT, "a tensor that the second has alone: %s", err_line());
	ok(strstr(err_line(), "'v'") != NULL && strncmp(err_line(), file[0], strlen(file[0])) == 0,
	    "the error names the tensor and the file that lacks it");
	o.drop = (char *[]){ NAME("v") };
	o.ndrop = 1;
	is(merge_run(&o, file[3]), 0, "a dropped tensor may be missing in a file: %s", err_line());
	o.pick = (char *[]){ NAME("x*") };
	o.npick = 1;
	is(merge_run(&o, file[3]), ERR_ARG, "nothing left: %s", err_line());
}

/* A list's names, with what MXNet has in front of them or without; and metadata of another program. */
static void
strangers(void)
{
	static const char *const name[] = { "aux:v", "0.weight", "w", "arg:w" };
	const struct tensor x = { .name = NAME("aux:v"), .ndim = 1, .dim = { 1 } };
	const float v[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	char *in[] = { file[0], file[1] };
	struct merge_opt o = { .path = in, .n = 2, .share = (const double[]){ 0.5, 0.5 }, .kind = TENSORS_PARAMS };
	struct tensors t = { .kind = TENSORS_PARAMS };
	struct tensors_out *out;

	for (int i = 0; i < 4; i++)
		tensors_add(&t, name[i], &x);
	for (int f = 0; f < 2; f++)
		ok(tensors_create(file[f], &t, &out) == 0 && tensors_write(out, v + 4 * f, 16) == 0 && tensors_commit(out) == 0,
		    "a list is written");
	tensors_close(&t);
	is(merge_run(&o, file[3]), 0, "lists into a list: %s", err_line());
	ok(has(file[3], "aux:v", NULL) && has(file[3], "0.weight", NULL), "the tensors of lists keep their names");
	ok(number(file[3], "w", 0) == 5 && number(file[3], "arg:w", 0) == 6, "each tensor has its own values");
	o.kind = TENSORS_SAFE;
	is(merge_run(&o, file[3]), ERR_FORMAT, "what would be one name: %s", err_line());
	o.drop = (char *[]){ NAME("w") };
	o.ndrop = 1;
	is(merge_run(&o, file[3]), 0, "the other tensors are merged into safetensors: %s", err_line());
	ok(has(file[3], "v", NULL) && has(file[3], "0.weight", NULL), "the tensors have plain names");
	o.ndrop = 0;
	write_file(file[0], &x, 1, v, 4, NULL);
	write_file(file[1], &x, 1, v, 4, NULL);
	ok(merge_run(&o, file[3]) == 0 && has(file[3], NULL, "epoch"), "metadata without a graph is another program's, and stays");
}

/* What stands in front of names that no list had: state, averages and a count go with their neighbours. */
static void
kinds(void)
{
	static const struct { const char *name, *as; } no[] = {
		{ "a_weight", "arg:a_weight" }, { "a_weight:momentum", "arg:a_weight:momentum" },
		{ "bn_moving_var", "aux:bn_moving_var" }, { "bn_moving_var:average", "aux:bn_moving_var:average" },
		{ "f.0.weight", "f.0.weight" }, { "f.0.weight:momentum", "f.0.weight:momentum" },
		{ "f.0.weight:average", "f.0.weight:average" }, { "f.1.running_var", "f.1.running_var" },
		{ "f.1.num_batches_tracked", "f.1.num_batches_tracked" }, { "weight", "arg:weight" },
	};
	const size_t n = sizeof(no) / sizeof(*no);
	struct tensor x[sizeof(no) / sizeof(*no)];
	float v[sizeof(no) / sizeof(*no)] = { 0 };
	char *in[] = { file[0] };
	struct merge_opt o = { .path = in, .n = 1, .share = (const double[]){ 1 }, .state = true, .kind = TENSORS_PARAMS };

	for (size_t i = 0; i < n; i++)
		x[i] = (struct tensor){ .name = NAME(no[i].name), .ndim = 1, .dim = { 1 } };
	write_file(file[0], x, n, v, sizeof(v), NULL);
	is(merge_run(&o, file[3]), 0, "a list of what was none: %s", err_line());
	for (size_t i = 0; i < n; i++)
		ok(has(file[3], no[i].as, NULL), "%s", no[i].as);
}

/* A step that comes before there is an output, and says so. */
static int
see_none(void *arg, uint64_t done, uint64_t all)
{
	DIR *d = opendir(dir);
	int files = 0;

	for (const struct dirent *f; d != NULL && (f = readdir(d)) != NULL;)
		files += f->d_name[0] != '.';
	if (d != NULL)
		closedir(d);
	*(bool *)arg = done == 0 && all == 28 && files == 1;
	return ERR_STOP;
}

static void
stops(void)
{
	char *in[] = { file[0] };
	bool none = false;
	struct merge_opt o = { .path = in, .n = 1, .share = (const double[]){ 1 }, .state = true, .step = see_none, .arg = &none };

	for (int i = 1; i < 8; i++)
		unlink(file[i]);
	write_net(file[0], 1, 2, 0, 1, 5);
	ok(merge_run(&o, file[3]) == ERR_STOP && none, "a merge is announced before a file is made");
	none = false;
	ok(merge_split(file[0], 2, file[3], see_none, &none) == ERR_STOP && none,
	    "a split is announced before a file is made");
}

/* Bytes of two files. */
static bool
same(const char *a, const char *b)
{
	struct buf p = { 0 }, q = { 0 };
	bool is_same = io_slurp(a, 1 << 20, &p) == 0 && io_slurp(b, 1 << 20, &q) == 0 && p.n == q.n &&
	    memcmp(p.p, q.p, p.n) == 0;

	buf_free(&p);
	buf_free(&q);
	return is_same;
}

static void
split_and_join(void)
{
	char part[3][160], *in[] = { part[0], part[1], part[2] }, *whole[] = { file[0] };
	struct merge_opt o = { .path = in, .n = 3, .state = true, .position = true };

	write_net(file[0], 1, 2, 3, 4, 5);
	is(merge_split(file[0], 3, file[4], NULL, NULL), 0, "split into three: %s", err_line());
	for (int i = 0; i < 3; i++)
		snprintf(part[i], sizeof(part[i]), "%s-0000%d-of-00003.safetensors", file[4], i + 1);
	is(merge_run(&o, file[3]), 0, "the parts are joined: %s", err_line());
	ok(same(file[0], file[3]), "the joined file has the same bytes");
	o.n = 2;
	is(merge_run(&o, file[5]), ERR_ARG, "a join without a part is refused: %s", err_line());
	o.force = true;
	is(merge_run(&o, file[5]), 0, "a forced join does without a part");
	unlink(file[5]);
	o.force = false;
	o.n = 3;
	in[2] = part[1];
	is(merge_run(&o, file[3]), ERR_FORMAT, "a tensor in two files: %s", err_line());
	o.path = whole;
	o.n = 1;
	o.share = (const double[]){ 1 };
	o.kind = TENSORS_PARAMS;
	o.state = false;
	is(merge_run(&o, file[3]), 0, "weights are merged into MXNet's list: %s", err_line());
	ok(has(file[3], "arg:w", NULL) && has(file[3], "aux:bn_moving_var", NULL), "a .params output has MXNet's names");
	whole[0] = file[3];
	o.kind = TENSORS_SAFE;
	ok(merge_run(&o, file[5]) == 0 && has(file[5], "w", NULL) && has(file[5], "bn_moving_var", NULL),
	    "a safetensors output of it has the first names");
	for (int i = 0; i < 3; i++)
		unlink(part[i]);
}

static void
names(void)
{
	static const struct { const char *rule, *from, *to; } yes[] = {
		{ "^conv([0-9]+)_weight$=features.\\1.weight", "conv12_weight", "features.12.weight" },
		{ "_=.", "a_b_c", "a.b.c" }, { "x*=-", "ab", "-a-b-" }, { "^a=", "aab", "ab" }, { "=b=c", "a=b", "ac" },
		{ "a=\\\\", "a", "\\" }, { "(.*)=body.\\1", "conv1", "body.conv1" }, { "a*=x", "baac", "xbxcx" },
		{ "^|a$=.", "aba", ".ab." }, { "b*$=x", "abb", "ax" }, { "(a|b)*=<\\1>", "ac", "<a>c<>" },
	};
	static const char *const no[] = { "abc", "=x", "(=x", "a=\\1", "a=\\", "(a)=\\2" };
	struct rename_rules *r;
	struct buf b = { 0 };

	for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++) {
		rename_new(&r);
		is(rename_add(r, yes[i].rule), 0, "a rule: %s", yes[i].rule);
		ok(rename_apply(r, yes[i].from, &b) == 0 && strcmp((const char *)b.p, yes[i].to) == 0, "%s becomes %s",
		    yes[i].from, yes[i].to);
		rename_free(r);
	}
	rename_new(&r);
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		is(rename_add(r, no[i]), ERR_ARG, "no rule: %s", err_line());
	rename_add(r, "a=b");
	rename_add(r, "b=c");
	ok(rename_apply(r, "ab", &b) == 0 && strcmp((const char *)b.p, "cc") == 0, "rules follow each other");
	rename_free(r);
	buf_free(&b);
}

static void
measures(void)
{
	const struct tensor x = { .name = NAME("x"), .ndim = 1, .dim = { 4 } };
	const float u[4] = { 3, -4, NAN, 0 }, v[4] = { 3, -4, NAN, 5 };
	struct tensors a, b;
	struct measure m;
	struct measure_diff d;

	write_file(file[0], &x, 1, u, sizeof(u), NULL);
	write_file(file[1], &x, 1, v, sizeof(v), NULL);
	tensors_open(&a, file[0]);
	tensors_open(&b, file[1]);
	is(measure_tensor(&a, &a.t[0], &m), 0, "measured");
	ok(m.min == -4 && m.max == 3 && m.nonfinite == 1, "range, and what is not finite");
	near(m.mean, -1.0 / 3, 1e-12, "their mean is finite");
	near(m.rms, sqrt(25.0 / 3), 1e-12, "root of the mean square");
	is(measure_pair(&a, &a.t[0], &b, &b.t[0], &d), 0, "compared");
	ok(d.differ == 1 && d.max == 5, "one number differs, by five");
	near(d.relative, 1, 1e-12, "relative to the first");
	tensors_close(&a);
	tensors_close(&b);
}

/* Their squares have no f64, and the sum of the largest has none. */
static void
extreme_measures(void)
{
	const struct tensor x = { .name = NAME("x"), .type = TENSORS_F64, .ndim = 1, .dim = { 3 } };
	static const double u[][3] = { { 1.5e308, 1.5e308, 1.5e308 }, { 3e300, -4e300, 1 }, { 3e-300, -4e-300, 0 },
		{ 3, -4, 1e-300 }, { 1e-130, 1e-110, 0 }, { 1e130, 1e110, 0 } };
	static const double rms[] = { 1.5e308, 5e300, 5e-300, 5, 1e-110, 1e130 };

	for (size_t i = 0; i < sizeof(u) / sizeof(*u); i++) {
		const double half[3] = { u[i][0] / 2, u[i][1] / 2, u[i][2] / 2 };
		const double by = i == 0 ? 1 : sqrt(3), size = rms[i];
		struct tensors a, b;
		struct measure m;
		struct measure_diff d;

		write_file(file[0], &x, 1, u[i], sizeof(u[i]), NULL);
		write_file(file[1], &x, 1, half, sizeof(half), NULL);
		ok(tensors_open(&a, file[0]) == 0 && tensors_open(&b, file[1]) == 0, "a file of numbers like %g is read", u[i][0]);
		ok(measure_tensor(&a, &a.t[0], &m) == 0 && m.nonfinite == 0, "extreme numbers are finite");
		near(m.rms / size * by, 1, 1e-12, "the root of their mean square is finite and not 0");
		near(m.mean / size, (u[i][0] / size + u[i][1] / size + u[i][2] / size) / 3, 1e-12, "their mean is finite");
		ok(measure_pair(&a, &a.t[0], &b, &b.t[0], &d) == 0 && d.differ > 0, "extreme numbers differ from their halves");
		near(d.relative, 0.5, 1e-12, "the relative difference to the halves is a half");
		tensors_close(&a);
		tensors_close(&b);
	}
}

static void
no_measures(void)
{
	const struct tensor x = { .name = NAME("x"), .ndim = 1, .dim = { 2 } };
	const float u[2] = { NAN, -INFINITY };
	struct tensors a;
	struct measure m;

	write_file(file[0], &x, 1, u, sizeof(u), NULL);
	ok(tensors_open(&a, file[0]) == 0 && measure_tensor(&a, &a.t[0], &m) == 0 && m.nonfinite == 2,
	    "NaN and infinity are counted");
	ok(isnan(m.min) && isnan(m.max) && isnan(m.mean) && isnan(m.rms), "a tensor without finite numbers has no figures");
	tensors_close(&a);
}

/* Numbers that f32 has not, and some that f64 has not. */
static void
wide_measures(void)
{
	const struct tensor x[] = { { .name = NAME("d"), .type = TENSORS_F64, .ndim = 1, .dim = { 2 } },
		{ .name = NAME("i"), .type = TENSORS_I64, .ndim = 1, .dim = { 2 } } };
	const struct { double d[2]; int64_t i[2]; } u = { { 1, 1e300 }, { INT64_MAX, -5 } },
		v = { { 1 + 0x1p-40, 1e300 }, { INT64_MAX - 3, -5 } };
	struct tensors a, b;
	struct measure m;
	struct measure_diff d;

	write_file(file[0], x, 2, &u, sizeof(u), NULL);
	write_file(file[1], x, 2, &v, sizeof(v), NULL);
	ok(tensors_open(&a, file[0]) == 0 && tensors_open(&b, file[1]) == 0, "wide numbers");
	ok(measure_tensor(&a, &a.t[0], &m) == 0 && m.nonfinite == 0 && m.max == 1e300, "a number beyond f32 is finite");
	ok(measure_pair(&a, &a.t[0], &b, &b.t[0], &d) == 0 && d.differ == 1 && d.max == 0x1p-40, "doubles that differ by little");
	ok(measure_pair(&a, &a.t[1], &b, &b.t[1], &d) == 0 && d.differ == 1 && d.max == 3, "long ones by less than a double tells");
	ok(measure_pair(&a, &a.t[1], &a, &a.t[1], &d) == 0 && d.differ == 0 && d.relative == 0,
	    "a tensor equals itself");
	tensors_close(&a);
	tensors_close(&b);
}

int
main(void)
{
	if (mkdtemp(dir) == NULL)
		return 1;
	for (int i = 0; i < 8; i++)
		snprintf(file[i], sizeof(file[i]), "%s/%c", dir, 'a' + i);
	means();
	left_out();
	differences();
	strangers();
	kinds();
	stops();
	split_and_join();
	names();
	measures();
	wide_measures();
	extreme_measures();
	no_measures();
	for (int i = 0; i < 8; i++)
		unlink(file[i]);
	rmdir(dir);
	return done();
}
