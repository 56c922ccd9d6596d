/* pmerge_show - what is in files of tensors, for people and pipes. */
#include "pmerge_show.h"
#include "front.h"
#include "front_progress.h"

#include "base/err.h"
#include "net/measure.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Nothing of it stays when a row is printed. */
static void
watch(const struct tensors *t, const struct tensor *x)
{
	struct progress_line line = { 0 };

	if (!progress_due())
		return;
	progress_add(&line, "tensor %zu of %zu", (size_t)(x - t->t) + 1, t->n);
	line.head = (unsigned)strlen(line.text);
	progress_add(&line, ", %s", x->name);
	progress_draw(&line, 1);
}

static void
measure(const char *path, const struct tensors *t, const struct tensor *x, struct measure *m)
{
	int e;

	watch(t, x);
	if ((e = measure_tensor(t, x, m)) < 0) {
		err_within("tensor '%.200s'", x->name);
		front_die(path, e);
	}
}

static void
open_or_die(struct tensors *t, const char *path)
{
	int e = tensors_open(t, path);

	if (e < 0)
		front_die(NULL, e);
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

			measure(path[i], &t, x, &m);
			progress_clear();
			printf("%s\t%s\t%s\t%s\t%" PRIu64 "\t%.9g\t%.9g\t%.9g\t%.9g\t%" PRIu64 "\n", path[i], x->name,
			    tensors_type_name(x->type), tensors_shape(x, shape), x->count, m.min, m.max, m.mean, m.rms, m.odd);
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

		if (e < 0) {
			front_warn(NULL, e);
			continue;
		}
		for (size_t k = 0; k < t.n; k++) {
			struct measure m;

			measure(path[i], &t, &t.t[k], &m);
			if (m.odd > 0) {
				err_note(0, "tensor '%.200s': %" PRIu64 " of its %" PRIu64 " numbers are not finite", t.t[k].name, m.odd,
				    t.t[k].count);
				front_warn(path[i], ERR_FORMAT);
			}
		}
		tensors_close(&t);
	}
	return 0;
}

/* A line when the two differ, by shape or by numbers; returns whether they do. */
static bool
print_pair(const struct tensors *ta, const struct tensor *a, const struct tensors *tb, const struct tensor *b,
    double tolerance)
{
	struct measure_diff d;
	int e;

	if (b == NULL || !tensors_same_shape(a, b) || a->type != b->type) {
		printf("%s\t%s\t-\t-\t-\n", a->name, b == NULL ? "only in the first" : a->type != b->type ? "type" : "shape");
		return true;
	}
	watch(ta, a);
	e = measure_pair(ta, a, tb, b, &d);
	progress_clear();
	if (e < 0)
		front_die(a->name, e);
	if (d.differ == 0 || d.relative <= tolerance)
		return false;
	printf("%s\tnumbers\t%" PRIu64 "\t%.9g\t%.9g\n", a->name, d.differ, d.max, d.relative);
	return true;
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
		differ |= print_pair(&a, &a.t[i], &b, tensors_find(&b, a.t[i].name), tolerance);
	for (size_t i = 0; i < b.n; i++)
		if (tensors_find(&a, b.t[i].name) == NULL) {
			printf("%s\tonly in the second\t-\t-\t-\n", b.t[i].name);
			differ = true;
		}
	tensors_close(&a);
	tensors_close(&b);
	return differ;
}
