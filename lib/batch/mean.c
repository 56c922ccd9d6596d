/* mean - the mean image, which is subtracted from every sample. */
#include "batch/mean.h"
#include "base/err.h"
#include "tensor/tensors.h"

#include <inttypes.h>
#include <stdio.h>

#define NAME	"mean_img"
#define NAMELESS "0"	/* the name that tensors gives to the array of a list without names */

static int
refuse_other_shape(const struct tensor *x, uint32_t c, uint32_t h, uint32_t w)
{
	char is[80];

	if (x->ndim == 3)
		snprintf(is, sizeof(is), "(%" PRIu64 ",%" PRIu64 ",%" PRIu64 ")", x->dim[0], x->dim[1], x->dim[2]);
	else
		snprintf(is, sizeof(is), "of %u dimensions", x->ndim);
	return err_fail(ERR_FORMAT, "its shape is %s, that of a sample (%u,%u,%u); name another file to have one "
	    "made", is, c, h, w);
}

static int
read_mean_tensor(const struct tensors *t, float *mean, uint32_t c, uint32_t h, uint32_t w)
{
	const struct tensor *x = t->t;

	if (t->n != 1)
		return err_fail(ERR_FORMAT, "holds %zu arrays, and a mean image is one", t->n);
	if (strcmp(x->name, NAME) != 0 && strcmp(x->name, NAMELESS) != 0)
		return err_fail(ERR_FORMAT, "its array is not named " NAME);
	if (x->ndim != 3 || x->dim[0] != c || x->dim[1] != h || x->dim[2] != w)
		return refuse_other_shape(x, c, h, w);
	if (x->type != TENSORS_F32)
		return err_fail(ERR_FORMAT, "its numbers are not f32");
	return tensors_read(t, x, 0, (size_t)x->count, mean);
}

int
mean_load(const char *path, uint32_t c, uint32_t h, uint32_t w, float *mean)
{
	struct tensors t;
	int e;

	if ((e = tensors_open(&t, path)) == ERR_FORMAT || e == ERR_SHORT || e == ERR_LIMIT)
		return err_fail(e, "%s: is no mean image; one is made in a file that does not exist", path);
	ERR_TRY(e);
	e = err_wrap(read_mean_tensor(&t, mean, c, h, w), "%s", path);
	tensors_close(&t);
	return e;
}

int
mean_save(const char *path, const float *mean, uint32_t c, uint32_t h, uint32_t w)
{
	const struct tensor shape = { .ndim = 3, .dim = { c, h, w } };
	struct tensors t = { .kind = TENSORS_PARAMS };
	struct tensors_out *out;
	int e;

	if ((e = tensors_add(&t, NAME, &shape)) == 0 && (e = tensors_create(path, &t, &out)) == 0) {
		if ((e = tensors_write(out, mean, (size_t)c * h * w * sizeof(*mean))) == 0)
			e = tensors_commit(out);
		else
			tensors_abandon(out);
	}
	tensors_close(&t);
	return e;
}
