/* mean - the mean image: what is subtracted from every sample. */
#include "batch/mean.h"
#include "base/err.h"
#include "base/io.h"
#include "base/num.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LIST_MAGIC	0x112u		/* of an NDArray list */
#define V1_MAGIC	0xf993fac8u	/* of an array; v0 has none and begins with ndim */
#define V2_MAGIC	0xf993fac9u
#define NAME		"mean_img"
#define CPU		1u		/* dev_type */
#define ROOM		1024u		/* bytes for all that is not numbers */

/* What is left of the file's bytes. */
struct in {
	const uint8_t	*p;
	size_t		 n;
	bool		 ended;		/* more was asked for */
};

static uint64_t
word(struct in *in, size_t bytes)
{
	uint64_t v = 0;

	if (in->n < bytes) {
		in->ended = true;
		return 0;
	}
	v = bytes == 8 ? le_get64(in->p) : le_get32(in->p);
	in->p += bytes;
	in->n -= bytes;
	return v;
}

static int
other_shape(uint64_t ndim, const uint64_t shape[3], const uint64_t dims[3])
{
	char is[80];

	if (ndim == 3)
		snprintf(is, sizeof(is), "(%llu,%llu,%llu)", (unsigned long long)shape[0], (unsigned long long)shape[1],
		    (unsigned long long)shape[2]);
	else
		snprintf(is, sizeof(is), "of %llu dimensions", (unsigned long long)ndim);
	return err_fail(ERR_FORMAT, "its shape is %s, that of a sample (%u,%u,%u)", is, (unsigned)dims[0],
	    (unsigned)dims[1], (unsigned)dims[2]);
}

/* The head of one array, whose shape must be dims. */
static int
array_head(struct in *in, const uint64_t dims[3])
{
	uint64_t ndim = word(in, 4);
	size_t wide = 4;	/* bytes of a dimension */
	uint64_t shape[3] = { 0 };
	bool same = true;

	if (ndim == V1_MAGIC || ndim == V2_MAGIC) {
		wide = 8;
		if (ndim == V2_MAGIC && word(in, 4) != 0)
			return err_fail(ERR_FORMAT, "the array is sparse");
		ndim = word(in, 4);
	}
	for (int i = 0; i < 3 && ndim == 3; i++)
		same &= (shape[i] = word(in, wide)) == dims[i];
	word(in, 4);	/* the device where it was ... */
	word(in, 4);	/* ... and that device's number */
	if (in->ended)
		return 0;
	if (ndim != 3 || !same)
		return other_shape(ndim, shape, dims);
	if (word(in, 4) != 0)
		return err_fail(ERR_FORMAT, "its numbers are not f32");
	return 0;
}

static int
parse(struct in *in, float *mean, const uint64_t dims[3])
{
	size_t n = (size_t)(dims[0] * dims[1] * dims[2]);
	const uint8_t *data;
	uint64_t names;
	int e;

	if (word(in, 8) != LIST_MAGIC && !in->ended)
		return err_fail(ERR_FORMAT, "not an MXNet list of arrays");
	word(in, 8);	/* reserved */
	if (word(in, 8) != 1 && !in->ended)
		return err_fail(ERR_FORMAT, "not one array but more or none");
	if ((e = array_head(in, dims)) < 0)
		return e;
	data = in->p;
	if (in->ended || in->n / 4 < n)
		return err_fail(ERR_SHORT, "ends too early");
	in->p += n * 4;
	in->n -= n * 4;
	names = word(in, 8);
	if (names == 1 && word(in, 8) != sizeof(NAME) - 1)
		names = 2;
	if (in->ended || (names == 1 && in->n < sizeof(NAME) - 1))
		return err_fail(ERR_SHORT, "ends too early");
	if (names > 1 || (names == 1 && memcmp(in->p, NAME, sizeof(NAME) - 1) != 0))
		return err_fail(ERR_FORMAT, "its array is not named " NAME);
	for (size_t i = 0; i < n; i++)
		mean[i] = le_getf32(data + i * 4);
	return 0;
}

/* No more of a file than a mean of this shape has: what is longer shows by its head. */
static int
load(const char *path, size_t most, struct buf *b)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), e;

	if (fd < 0)
		return err_sys("open");
	if ((e = buf_room(b, most)) == 0)
		e = io_read(fd, b->p, most, &b->n);
	close(fd);
	return e;
}

int
mean_load(const char *path, float *mean, uint32_t c, uint32_t h, uint32_t w)
{
	const uint64_t dims[3] = { c, h, w };
	struct buf b = { 0 };
	size_t n;
	int e;

	if ((e = num_mul((size_t)c * h, w, &n)) == 0 && (e = num_mul(n, 4, &n)) == 0 &&
	    (e = load(path, n + ROOM, &b)) == 0)
		e = parse(&(struct in){ b.p, b.n, false }, mean, dims);
	if (e < 0)
		err_within("%s", path);
	buf_free(&b);
	return e;
}

int
mean_save(const char *path, const float *mean, uint32_t c, uint32_t h, uint32_t w)
{
	const uint32_t head[] = { LIST_MAGIC, 0, 0, 0, 1, 0, 3, c, h, w, CPU, 0, 0 };
	const uint32_t tail[] = { 1, 0, sizeof(NAME) - 1, 0 };
	size_t n = (size_t)c * h * w, heads = sizeof(head) / sizeof(*head), tails = sizeof(tail) / sizeof(*tail);
	struct buf b = { 0 };
	struct io_new f;
	int e;

	if ((e = buf_room(&b, (heads + n + tails) * 4 + sizeof(NAME))) < 0)
		return e;
	for (size_t i = 0; i < heads; i++, b.n += 4)
		le_put32(b.p + b.n, head[i]);
	for (size_t i = 0; i < n; i++, b.n += 4)
		le_putf32(b.p + b.n, mean[i]);
	for (size_t i = 0; i < tails; i++, b.n += 4)
		le_put32(b.p + b.n, tail[i]);
	if ((e = buf_put(&b, NAME, sizeof(NAME) - 1)) == 0 && (e = io_create(&f, path)) == 0) {
		if ((e = io_write(f.fd, b.p, b.n)) == 0)
			e = io_commit(&f);
		else
			io_abandon(&f);
	}
	if (e < 0)
		err_within("%s", path);
	buf_free(&b);
	return e;
}
