/* real_test - the records of CIFAR-10 and MNIST have the pixels of the official files. */
#include "base/err.h"
#include "record/pack.h"
#include "record/recset.h"
#include "batch/batch.h"
#include "numbers.h"
#include "pics.h"
#include "tap.h"

static char data_dir[512];

static int
put(void *ctx, const struct pack_item *item, const uint8_t *p, size_t n)
{
	return recset_put(ctx, item, p, n);
}

static int
bad(void *ctx, const struct pack_item *item, int e)
{
	(void)ctx;
	ok(0, "%s: %d %s", item->name, e, err_line());
	return 0;
}

static int
pack(const char *from, enum source_split split, const char *to)
{
	struct source_opt opt = { .path = from, .split = split };
	struct recset *out;
	struct source *in;
	int e;

	if ((e = source_open(&opt, &in)) < 0 || (e = recset_create(&(struct recset_opt){ .path = to }, &out)) < 0)
		return e;
	e = pack_run(in, &(struct pack_opt){ .threads = 2 }, &(struct pack_sink){ put, bad, out });
	if (e == 0)
		e = recset_commit(out, source_classes(in));
	else
		recset_abandon(out);
	source_close(in);
	return e;
}

/*
 * Reads all of a .rec in order; counts the classes, and compares the first
 * records' samples with planes as the official file has them: label (at
 * label_at of a unit of so many bytes) and pixels after it.
 */
static void
check(const char *name, const struct batch_opt *o, const uint8_t *label, const uint8_t *pixel, size_t unit,
    size_t label_unit, uint32_t compared, uint32_t count[10])
{
	struct batch_reader *r;
	const struct batch *b;
	size_t sample = (size_t)o->aug.c * o->aug.h * o->aug.w;
	uint32_t seen = 0, same = 0, in_order = 0;
	int e;

	if ((e = batch_open(o, &r)) < 0) {
		ok(0, "%s: %d %s", name, e, err_line());
		return;
	}
	batch_start(r, 0, 0);
	while ((e = batch_next(r, &b)) > 0) {
		const float *x = numbers(&b->s);

		for (uint32_t i = 0; i < b->s.n; i++, seen++) {
			count[b->s.y[i]]++;
			in_order += b->id[i] == seen;
			if (seen >= compared)
				continue;
			same += b->s.y[i] == label[seen * label_unit];
			for (size_t k = 0; k < sample; k++)
				if (x[i * sample + k] != (float)pixel[seen * unit + k]) {
					same--;
					break;
				}
		}
	}
	is(e, 0, "%s: read to the end", name);
	is(seen, batch_records(r), "%s: every record decodes", name);
	is(in_order, seen, "%s: the records are in order", name);
	is(same, compared, "%s: pixels and labels of the first %u are those of the file", name, compared);
	batch_close(r);
}

static size_t
read_from(const char *fmt, uint8_t *p, size_t n)
{
	char cmd[1200];
	size_t got;
	FILE *f;

	snprintf(cmd, sizeof(cmd), fmt, data_dir);
	if ((f = popen(cmd, "r")) == NULL)
		return 0;
	got = fread(p, 1, n, f);
	pclose(f);
	return got;
}

static void
test_cifar(void)
{
	enum { UNIT = 3073, COMPARED = 300 };
	static uint8_t raw[UNIT * COMPARED];
	char from[600], to[256];
	uint32_t count[10] = { 0 }, even = 0;

	snprintf(from, sizeof(from), "%s/cifar-10-binary.tar.xz", data_dir);
	snprintf(to, sizeof(to), "%s", pics_path("cifar.rec"));
	if (access(from, R_OK) != 0) {
		skip("CIFAR-10", "no cifar-10-binary.tar.xz in $TALLY_DATA");
		return;
	}
	is(pack(from, SOURCE_TRAIN, to), 0, "CIFAR-10: packed");
	is(read_from("tar xOf %s/cifar-10-binary.tar.xz cifar-10-batches-bin/data_batch_1.bin 2>/dev/null", raw, sizeof(raw)),
	    sizeof(raw), "CIFAR-10: the official file's first records");
	check("CIFAR-10", &(struct batch_opt){ .path = to, .batch = 500, .aug = { .c = 3, .h = 32, .w = 32 }, .classes = 10 },
	    raw, raw + 1, UNIT, UNIT, COMPARED, count);
	for (int i = 0; i < 10; i++)
		even += count[i] == 5000;
	is(even, 10, "CIFAR-10: 5,000 train records a class");
}

static void
test_mnist(void)
{
	enum { UNIT = 784, COMPARED = 2000 };
	static const uint32_t want[10] = { 980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009 };
	static uint8_t pixels[16 + UNIT * COMPARED], labels[8 + COMPARED];
	char from[600], to[256];
	uint32_t count[10] = { 0 };

	snprintf(from, sizeof(from), "%s/mnist", data_dir);
	snprintf(to, sizeof(to), "%s", pics_path("mnist.rec"));
	if (access(from, R_OK) != 0) {
		skip("MNIST", "no mnist in $TALLY_DATA");
		return;
	}
	is(pack(from, SOURCE_TEST, to), 0, "MNIST: packed");
	read_from("gzip -dc %s/mnist/t10k-images-idx3-ubyte.gz", pixels, sizeof(pixels));
	read_from("gzip -dc %s/mnist/t10k-labels-idx1-ubyte.gz", labels, sizeof(labels));
	check("MNIST", &(struct batch_opt){ .path = to, .batch = 100, .aug = { .c = 1, .h = 28, .w = 28 }, .classes = 10 },
	    labels + 8, pixels + 16, UNIT, 1, COMPARED, count);
	ok(memcmp(count, want, sizeof(want)) == 0, "MNIST: the test set's 10,000 by class");
}

int
main(void)
{
	const char *env = getenv("TALLY_DATA"), *top = getenv("TOP");

	if (env != NULL)
		snprintf(data_dir, sizeof(data_dir), "%s", env);
	else
		snprintf(data_dir, sizeof(data_dir), "%s/../shared/data", top != NULL ? top : ".");
	test_mnist();
	test_cifar();
	pics_clean();
	return done();
}
