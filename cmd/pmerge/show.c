/* show - prints the contents of tensor files. */
#include "pmerge/pmerge.h"
#include "front.h"
#include "front_progress.h"
#include "front_wait.h"

#include "base/err.h"
#include "net/measure.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Prints a name with tabs, newlines and backslashes escaped. */
static void
put_name(const char *name)
{
	for (; *name != 0; name++)
		switch (*name) {
		case '\t':	fputs("\\t", stdout); break;
		case '\n':	fputs("\\n", stdout); break;
		case '\\':	fputs("\\\\", stdout); break;
		default:	putchar(*name);
		}
}

/* Prints the name that --pick, --drop and --rename take. */
static void
put_tensor_name(const struct tensors *t, const struct tensor *x)
{
	put_name(tensors_plain_name(t, x->name));
}

/* A tensor without finite numbers has no figures. */
static void
put_figure(double v)
{
	if (isnan(v))
		fputs("\t-", stdout);
	else
		printf("\t%.9g", v);
}

static void
show_measuring_progress(const struct tensors *t, const struct tensor *x)
{
	struct progress_line line = { 0 };

	if (!progress_due())
		return;
	progress_add(&line, "tensor %zu of %zu", (size_t)(x - t->t) + 1, t->n);
	line.head = (unsigned)strlen(line.text);
	progress_add(&line, ", %s", tensors_plain_name(t, x->name));
	progress_draw(&line, 1);
}

static void
measure_or_die(const char *path, const struct tensors *t, const struct tensor *x, struct measure *m)
{
	show_measuring_progress(t, x);
	front_must(path, err_wrap(measure_tensor(t, x, m), "tensor '%.200s'", tensors_plain_name(t, x->name)));
}

static void
open_or_die(struct tensors *t, const char *path)
{
	front_must(NULL, tensors_open(t, path));
	front_wait_end();
}

int
show_list(char *const *path, uint32_t n)
{
	char shape[TENSORS_SHAPE];

	printf("file\tname\ttype\tshape\tcount\tmin\tmax\tmean\trms\tnot_finite\n");
	for (uint32_t i = 0; i < n; i++) {
		struct tensors t;

		open_or_die(&t, path[i]);
		for (size_t k = 0; k < t.n; k++) {
			const struct tensor *x = &t.t[k];
			struct measure m;

			measure_or_die(path[i], &t, x, &m);
			progress_clear();
			put_name(path[i]);
			putchar('\t');
			put_tensor_name(&t, x);
			printf("\t%s\t%s\t%" PRIu64, tensors_type_name(x->type), tensors_shape(x, shape), x->count);
			put_figure(m.min);
			put_figure(m.max);
			put_figure(m.mean);
			put_figure(m.rms);
			printf("\t%" PRIu64 "\n", m.nonfinite);
		}
		tensors_close(&t);
	}
	return 0;
}

int
show_faults(char *const *path, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct tensors t;
		int e = tensors_open(&t, path[i]);

		front_wait_end();
		if (e < 0) {
			front_warn(NULL, e);
			continue;
		}
		for (size_t k = 0; k < t.n; k++) {
			struct measure m;

			measure_or_die(path[i], &t, &t.t[k], &m);
			if (m.nonfinite > 0)
				front_warn(path[i], err_fail(ERR_FORMAT, "tensor '%.200s': %" PRIu64 " of its %" PRIu64
				    " numbers are not finite", tensors_plain_name(&t, t.t[k].name), m.nonfinite,
				    t.t[k].count));
		}
		tensors_close(&t);
	}
	return 0;
}

/* Prints a line if the two differ in type, shape or numbers, and returns whether they do. */
static bool
print_pair(const struct tensors *ta, const struct tensor *a, const struct tensors *tb, const struct tensor *b,
    double tolerance)
{
	struct measure_diff d;
	int e;

	if (b == NULL || !tensors_same_shape(a, b) || a->type != b->type) {
		put_tensor_name(ta, a);
		printf("\t%s\t-\t-\t-\n", b == NULL ? "only in the first" : a->type != b->type ? "type" : "shape");
		return true;
	}
	show_measuring_progress(ta, a);
	e = measure_pair(ta, a, tb, b, &d);
	progress_clear();
	front_must(tensors_plain_name(ta, a->name), e);
	if (d.differ == 0 || d.relative <= tolerance)
		return false;
	put_tensor_name(ta, a);
	printf("\tnumbers\t%" PRIu64 "\t%.9g\t%.9g\n", d.differ, d.max, d.relative);
	return true;
}

/* Finds the tensor of t with the name of x in from, without MXNet's "arg:" and "aux:". */
static const struct tensor *
find_twin(const struct tensors *t, const struct tensors *from, const struct tensor *x)
{
	const struct tensor *same = tensors_find(t, x->name);

	return same != NULL ? same : tensors_find_plain(t, tensors_plain_name(from, x->name));
}

int
show_diff(char *const path[2], double tolerance)
{
	struct tensors a, b;
	bool differ = false;

	open_or_die(&a, path[0]);
	open_or_die(&b, path[1]);
	printf("name\twhat\tdiffer\tlargest\trelative\n");
	for (size_t i = 0; i < a.n; i++)
		differ |= print_pair(&a, &a.t[i], &b, find_twin(&b, &a, &a.t[i]), tolerance);
	for (size_t i = 0; i < b.n; i++)
		if (find_twin(&a, &b, &b.t[i]) == NULL) {
			put_tensor_name(&b, &b.t[i]);
			printf("\tonly in the second\t-\t-\t-\n");
			differ = true;
		}
	tensors_close(&a);
	tensors_close(&b);
	return differ;
}
