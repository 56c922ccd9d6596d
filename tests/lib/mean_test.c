/* mean_test - the mean image: the same for any number of threads, in MXNet's formats, mirrored with the image. */
#include "base/err.h"
#include "batch/mean.h"
#include "batches.h"
#include "tap.h"

#include <pthread.h>

static void
test_make(void)
{
	const char *path = pics_path("mean.rec");
	const struct aug small = { .c = 3, .h = 6, .w = 5 }, large = { .c = 3, .h = 10, .w = 10 };
	float one[3 * 6 * 5], many[3 * 10 * 10];
	double want[3 * 6 * 5] = { 0 };
	int fd = pics_create(path), near_all = 1;
	struct recs *recs;

	for (uint64_t i = 0; i < 200; i++) {
		uint8_t p[8 * 9 * 3];

		if (i == 17)
			pics_put_bad(fd, i);
		if (i == 60)
			pics_put(fd, i, 0, 3, 5, 5);	/* too small to count */
		pics_put(fd, i, 0, 3, 8, 9);
		pics_fill(p, 3, 8, 9, i);
		for (int c = 0; c < 3; c++)
			for (int y = 0; y < 6; y++)
				for (int x = 0; x < 5; x++)
					want[(c * 6 + y) * 5 + x] += p[((y + 1) * 9 + x + 2) * 3 + c] / 200.0;
	}
	close(fd);
	recs_open(path, &recs);
	is(mean_make(recs, &small, 1, NULL, one), 0, "one thread makes a mean");
	for (int i = 0; i < 3 * 6 * 5; i++)
		near_all &= fabs(one[i] - want[i]) < 1e-4;
	ok(near_all, "the mean is that of the centre crops");
	for (unsigned t = 2; t <= 8; t *= 2) {
		is(mean_make(recs, &small, t, NULL, many), 0, "%u threads make a mean", t);
		ok(memcmp(one, many, sizeof(one)) == 0, "%u threads give the bits of one", t);
	}
	is(mean_make(recs, &large, 2, NULL, many), ERR_FORMAT, "a mean without a large enough image is an error");
	recs_close(recs);
}

/* The bytes of MXNet's three ways to write one array (1,1,2) of the name mean_img. */
static void
test_formats(void)
{
#define LIST "\x12\x01\0\0\0\0\0\0" "\0\0\0\0\0\0\0\0" "\1\0\0\0\0\0\0\0"
#define DIMS32 "\1\0\0\0\1\0\0\0\2\0\0\0"
#define DIMS64 "\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0"
#define DATA "\1\0\0\0\0\0\0\0" "\0\0\0\0" "\0\0\x80\x3f" "\0\0\0\x40"
#define NAMES "\1\0\0\0\0\0\0\0" "\x08\0\0\0\0\0\0\0" "mean_img"
	static const struct {
		const char *p;
		size_t n;
		int e;
		const char *name;
	} t[] = {
#define CASE(bytes, e, name) { bytes, sizeof(bytes) - 1, e, name }
		CASE(LIST "\3\0\0\0" DIMS32 DATA NAMES, 0, "MXNet's version 0"),
		CASE(LIST "\xc8\xfa\x93\xf9" "\3\0\0\0" DIMS64 DATA NAMES, 0, "MXNet's version 1"),
		CASE(LIST "\xc9\xfa\x93\xf9" "\0\0\0\0" "\3\0\0\0" DIMS64 DATA NAMES, 0, "MXNet's version 2"),
		CASE(LIST "\3\0\0\0" DIMS32 "\2\0\0\0\3\0\0\0" "\0\0\0\0" "\0\0\x80\x3f" "\0\0\0\x40" NAMES, 0,
		    "an array from a GPU"),
		CASE(LIST "\3\0\0\0" DIMS32 DATA "\0\0\0\0\0\0\0\0", 0, "an array without a name"),
		CASE("\x48\0\0\0\0\0\0\0" "{\"mean_img\":{\"dtype\":\"F32\",\"shape\":[1,1,2],\"data_offsets\":[0,8]}}       "
		    "\0\0\x80\x3f" "\0\0\0\x40", 0, "safetensors"),
		CASE(LIST "\xc9\xfa\x93\xf9" "\1\0\0\0" "\3\0\0\0" DIMS64 DATA NAMES, ERR_NOTSUP, "sparse"),
		CASE(LIST "\2\0\0\0" "\1\0\0\0\2\0\0\0" DATA NAMES, ERR_FORMAT, "two dimensions"),
		CASE(LIST "\3\0\0\0" "\1\0\0\0\2\0\0\0\1\0\0\0" DATA NAMES, ERR_FORMAT, "another shape"),
		CASE(LIST "\3\0\0\0" DIMS32 "\1\0\0\0\0\0\0\0" "\1\0\0\0" "\0\0\x80\x3f" "\0\0\0\x40" NAMES, ERR_FORMAT, "f64"),
		CASE("\x12\x01\0\0\0\0\0\0" "\0\0\0\0\0\0\0\0" "\2\0\0\0\0\0\0\0" "\3\0\0\0" DIMS32 DATA
		    "\3\0\0\0" DIMS32 DATA "\0\0\0\0\0\0\0\0", ERR_FORMAT, "two arrays"),
		CASE(LIST "\3\0\0\0" DIMS32 DATA "\1\0\0\0\0\0\0\0" "\x08\0\0\0\0\0\0\0" "mean_foo", ERR_FORMAT, "another name"),
		CASE("P6 24 24 255\n", ERR_FORMAT, "a foreign file"),
	};
	const char *path = pics_path("mean.bin");
	float m[2];

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		m[0] = m[1] = 0;
		pics_write(path, t[i].p, t[i].n);
		is(mean_load(path, 1, 1, 2, m), t[i].e, "%s", t[i].name);
		if (t[i].e == 0)
			ok(m[0] == 1 && m[1] == 2, "%s: the values are read", t[i].name);
	}
	for (size_t n = 0; n < t[2].n; n++) {
		int e;

		pics_write(path, t[2].p, n);
		if ((e = mean_load(path, 1, 1, 2, m)) != ERR_SHORT) {
			ok(0, "a file cut after %zu bytes is too short: %d %s", n, e, err_line());
			return;
		}
	}
	ok(1, "a file cut anywhere is too short");
}

static void
test_save(void)
{
	float m[12], back[12];
	const char *path = pics_path("saved.bin");

	for (int i = 0; i < 12; i++)
		m[i] = (float)i * 1.25f;
	is(mean_save(path, m, 3, 2, 2), 0, "a mean is saved");
	is(mean_load(path, 3, 2, 2, back), 0, "a mean is loaded");
	ok(memcmp(m, back, sizeof(m)) == 0, "the loaded mean is the saved one");
	is(mean_load(path, 3, 4, 1, back), ERR_FORMAT, "another shape is refused");
	ok(strstr(err_line(), "its shape is (3,2,2), that of a sample (3,4,1)") != NULL,
	    "the refusal has both shapes: %s", err_line());
	{
		static float large[3 * 40 * 40];

		is(mean_save(path, large, 3, 40, 40), 0, "a larger mean is saved");
		is(mean_load(path, 3, 2, 2, back), ERR_FORMAT, "a larger mean is refused");
		ok(strstr(err_line(), "(3,40,40)") != NULL, "the refusal has the larger shape: %s", err_line());
	}
	is(mean_save(pics_path("no/such/place"), m, 3, 2, 2), ERR_SYS, "a missing folder is an error");
}

struct maker {
	pthread_t	 thread;
	const struct recs *recs;
	const char	*path;
	int		 e;
	float		 mean[3 * 6 * 5];
};

static void *
get(void *arg)
{
	struct maker *m = arg;

	m->e = mean_get(m->path, m->recs, &(struct aug){ .c = 3, .h = 6, .w = 5 }, 1, NULL, NULL, m->mean);
	return NULL;
}

static void
test_get(void)
{
	struct maker m[4] = { 0 };
	const char *path = pics_path("got.bin");
	int made = 0, same = 1;
	struct recs *recs;

	recs_open(pics_path("mean.rec"), &recs);
	for (int i = 0; i < 4; i++) {
		m[i].recs = recs;
		m[i].path = path;
		pthread_create(&m[i].thread, NULL, get, &m[i]);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(m[i].thread, NULL);
		made += m[i].e == 1;
		same &= m[i].e >= 0 && memcmp(m[i].mean, m[0].mean, sizeof(m[0].mean)) == 0;
	}
	is(made, 1, "one of four processes makes the mean");
	ok(same, "all four processes have the same mean");
	get(&m[0]);
	is(m[0].e, 0, "a later process finds the mean");
	ok(memcmp(m[0].mean, m[1].mean, sizeof(m[0].mean)) == 0, "the later process has the same mean");
	recs_close(recs);
}

/* x = (pixel - mean) * scale where the pixel lay, then each row from right to left. */
static void
test_subtract(void)
{
	static float mean[3 * 6 * 5];
	struct batch_opt o = { .path = batches_rec, .batch = 10, .threads = 2,
		.aug = { .c = 3, .h = 6, .w = 5, .seed = 3, .mean = mean, .scale = 0.25f } };

	for (uint32_t i = 0; i < 3 * 6 * 5; i++)
		mean[i] = (float)(i * i % 101);
	for (int cut = 0; cut < 4; cut++) {
		uint8_t p[3 * 14 * 11];
		struct batch_reader *r;
		const struct batch *b;
		bool right = true;

		o.aug.mirror = cut & 1;
		o.aug.cutmix = cut & 2 ? 1 : 0;	/* numbers, where else there are pixels; the last sample stays unmixed */
		r = batches_open(&o);
		batch_start(r, 0, 0);
		while (batch_next(r, &b) > 0)
			for (uint32_t i = 0; i < b->s.n; i++) {
				uint32_t tall = 12 + (uint32_t)(b->id[i] - 1000) % 3;
				float x[3 * 6 * 5];

				if (cut & 2 && b->id[i] != 1000 + BATCHES_N - 1)
					continue;
				samples_f32(&b->s, i, 1, x);
				pics_fill(p, 3, tall, 11, b->id[i]);
				for (uint32_t k = 0; k < 3 * 6 * 5; k++) {
					uint32_t at = k % 5, y = k / 5 % 6, c = k / 30, from = cut & 1 ? 4 - at : at;
					uint8_t pixel = p[(((tall - 6) / 2 + y) * 11 + 3 + from) * 3 + c];

					right &= x[k] == ((float)pixel - mean[k - at + from]) * 0.25f;
				}
			}
		ok(right, "samples are reduced by a mean image%s%s", cut & 1 ? ", mirrored with it" : "",
		    cut & 2 ? ", in f32" : "");
		batch_close(r);
	}
}

int
main(void)
{
	batches_make();
	test_make();
	test_get();
	test_formats();
	test_save();
	test_subtract();
	pics_clean();
	return done();
}
