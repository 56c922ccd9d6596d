/* batch_test - batches have the records' pixels, labels and order, for any number of threads. */
#include "batches.h"
#include "numbers.h"
#include "tap.h"

#include <sched.h>
#include <sys/stat.h>

/* One number for all that an epoch gives. */
static uint64_t
digest_of(struct batch_reader *r, const struct batch_opt *o, uint64_t epoch)
{
	uint64_t sum = 14695981039346656037u;
	const struct batch *b;

	batch_start(r, epoch, 0);
	while (batch_next(r, &b) > 0) {
		const uint8_t *p = (const uint8_t *)numbers(&b->s);

		for (size_t i = 0; i < (size_t)b->s.n * o->aug.c * o->aug.h * o->aug.w * 4; i++)
			sum = (sum ^ p[i]) * 1099511628211u;
		for (uint32_t i = 0; i < b->s.n; i++)
			sum = (sum ^ b->id[i] ^ (uint64_t)b->s.y[i] << 32) * 1099511628211u;
	}
	return sum;
}

static uint64_t
digest(const struct batch_opt *o, uint64_t epoch)
{
	struct batch_reader *r = batches_open(o);
	uint64_t sum = digest_of(r, o, epoch);

	batch_close(r);
	return sum;
}

static void
test_threads(void)
{
	struct batch_opt o = { .path = batches_rec, .batch = 10, .shuffle = true,
		.aug = { .c = 3, .h = 8, .w = 8, .seed = 9, .rand_crop = true, .rand_mirror = true } };
	uint64_t one, epoch1;

	o.threads = 1;
	one = digest(&o, 0);
	epoch1 = digest(&o, 1);
	ok(one != epoch1, "epochs differ");
	for (o.threads = 2; o.threads <= 8; o.threads *= 2)
		ok(digest(&o, 0) == one, "%u threads give the batches of one", o.threads);
	o.aug.seed = 10;
	ok(digest(&o, 0) != one, "seeds differ");
}

/* batch_peek() returns the batch that follows, and does not change the last one. */
static void
test_peek(void)
{
	const struct batch_opt o = { .path = batches_rec, .batch = 4, .aug = { .c = 3, .h = 8, .w = 8, .seed = 4 }, .shuffle = true,
		.micros = 1, .my_micros = 1 };
	struct batch_reader *r = batches_open(&o), *plain = batches_open(&o);
	const struct batch *a, *b, *next;
	uint32_t looked = 0, wrong = 0;

	batch_start(r, 1, 0);
	batch_start(plain, 1, 0);
	for (uint64_t step = 0; step < batch_steps(plain); step++) {
		if (batch_next(plain, &a) != 1 || batch_next(r, &b) != 1)
			break;
		while (step + 1 < batch_steps(plain) && batch_peek(r, &next) == 0)
			sched_yield();
		if (batch_peek(r, &next) == 1) {
			looked++;
			wrong += next->step != step + 1 || next->s.pixel == b->s.pixel;
		}
		wrong += b->step != step || b->s.n != a->s.n || memcmp(b->id, a->id, b->s.n * sizeof(*b->id)) != 0 ||
		    memcmp(b->s.pixel, a->s.pixel, (size_t)b->s.n * 3 * 8 * 8) != 0;
	}
	is(looked, batch_steps(plain) - 1, "batch_peek() returns each batch but the first");
	is(wrong, 0, "batch_peek() changes no batch");
	is(batch_next(r, &b), 0, "batch_next() returns the end");
	is(batch_peek(r, &next), 0, "batch_peek() returns the end");
	batch_start(r, 2, 0);
	while (batch_peek(r, &next) == 0)
		sched_yield();
	batch_start(r, 1, 3);
	is(batch_next(r, &b) == 1 ? (int)b->step : -1, 3,
	    "batch_start() starts at another step and drops the batch that was peeked");
	batch_close(r);
	batch_close(plain);
}

static void
test_pixels(void)
{
	float mean[8 * 8 * 3];
	struct batch_opt o = { .path = batches_rec, .batch = BATCHES_N, .aug = { .c = 3, .h = 8, .w = 8, .mean = mean, .scale = 0.5f } };
	struct batch_reader *r;
	const struct batch *b;
	const float *got;
	int same = 1, order = 1;

	for (int i = 0; i < 8 * 8 * 3; i++)
		mean[i] = (float)i / 4;
	r = batches_open(&o);
	batch_start(r, 0, 0);
	is(batch_next(r, &b), 1, "one batch can have all records");
	is(b->s.n, BATCHES_N, "that batch has all records");
	got = numbers(&b->s);
	for (uint32_t i = 0; i < b->s.n; i++) {
		uint32_t h = 12 + i % 3, w = 11, y0 = (h - 8) / 2, x0 = (w - 8) / 2;
		uint8_t p[14 * 11 * 3];

		pics_fill(p, 3, h, w, 1000 + i);
		order &= b->id[i] == 1000 + i && b->s.y[i] == (int)(i % 7);
		for (uint32_t c = 0; c < 3; c++)
			for (uint32_t y = 0; y < 8; y++)
				for (uint32_t x = 0; x < 8; x++)
					same &= got[((i * 3 + c) * 8 + y) * 8 + x] ==
					    ((float)p[((y0 + y) * w + x0 + x) * 3 + c] - mean[(c * 8 + y) * 8 + x]) * 0.5f;
	}
	ok(order, "without shuffling samples have the file's order, ids and classes");
	ok(same, "samples are planes of the centre crop, minus the mean, scaled");
	batch_close(r);
	o.aug.mean = NULL;
	o.limit = 13;
	o.batch = 5;
	o.aug.c = 1;
	r = batches_open(&o);
	is(batch_records(r), 13, "a limit gives the number of records");
	is(batch_steps(r), 3, "a limit gives the number of steps");
	batch_start(r, 0, 2);
	is(batch_next(r, &b), 1, "an epoch can start at step 2");
	ok(b->step == 2 && b->s.n == 3 && b->id[0] == 1010, "step 2 has the last three records");
	is(batch_next(r, &b), 0, "the end follows");
	is(batch_next(r, &b), 0, "the end is returned again");
	batch_close(r);
}

static void
test_restart(void)
{
	struct batch_opt o = { .path = batches_rec, .batch = 3, .shuffle = true,
		.aug = { .c = 3, .h = 8, .w = 8, .seed = 2, .rand_crop = true }, .threads = 4 };
	struct batch_reader *r = batches_open(&o);
	const struct batch *b;
	uint64_t id[3];
	int same = 1;

	batch_start(r, 5, 7);
	batch_next(r, &b);
	memcpy(id, b->id, sizeof(id));
	for (uint64_t i = 0; i < 60; i++) {
		batch_start(r, i, i % 30);
		if (i % 2 == 0)
			batch_next(r, &b);
	}
	batch_start(r, 5, 7);
	same = batch_next(r, &b) == 1 && memcmp(b->id, id, sizeof(id)) == 0;
	ok(same, "batch_start() works while threads decode");
	batch_start(r, 6, 0);
	batch_close(r);
	ok(1, "batch_close() works while threads decode");
}

static void
test_bad_records(void)
{
	const char *path = pics_path("bad.rec");
	struct batch_opt o = { .path = path, .batch = 8, .aug = { .c = 3, .h = 8, .w = 8 }, .classes = 5, .threads = 4 };
	struct batch_reader *r;
	const struct batch *b;
	int fd = pics_create(path);
	char want[512];
	uint8_t pixels[8 * 8 * 3];
	int moved = 1;
	off_t at;

	pics_fill(pixels, 3, 8, 8, 2);
	pics_put(fd, 0, 0, 3, 8, 8);
	at = lseek(fd, 0, SEEK_CUR);
	pics_put_bad(fd, 1);
	pics_put(fd, 2, 2, 3, 8, 8);
	pics_put(fd, 3, 3, 3, 8, 7);	/* smaller than a sample */
	pics_put(fd, 4, 5, 3, 8, 8);	/* no such class */
	pics_put(fd, 5, 0.5f, 3, 8, 8);
	pics_rec(fd, "short", 5);
	pics_put(fd, 7, 4, 1, 9, 9);	/* grey becomes colour */
	close(fd);
	r = batches_open(&o);
	batch_start(r, 0, 0);
	is(batch_next(r, &b), 1, "a batch with bad records is returned");
	is(b->s.n, 3, "the good records are in the batch");
	is(b->bad, 5, "the bad records are counted");
	ok(b->id[0] == 0 && b->id[1] == 2 && b->id[2] == 7 && b->s.y[1] == 2 && b->s.y[2] == 4,
	    "the good records have no gaps");
	for (int i = 0; i < 8; i++)
		moved &= numbers(&b->s)[64 * 3 + i] == (float)pixels[i * 3];
	ok(moved, "the samples have no gaps");
	snprintf(want, sizeof(want), "%s: record at %lld, id 1: not in a known image format", path, (long long)at);
	is_str(b->why[0], want, "the first bad record has its name and reason");
	batch_close(r);
}

/* Errors after the file is open. */
static void
test_broken_file(void)
{
	char path[256], line[300];
	struct batch_opt o = { .path = path, .batch = 4, .aug = { .c = 3, .h = 8, .w = 8 } };
	struct batch_reader *r;
	const struct batch *b;
	int fd;

	snprintf(path, sizeof(path), "%s", pics_path("cut.rec"));
	fd = pics_create(path);
	for (uint64_t i = 0; i < 40; i++)
		pics_put(fd, i, 0, 3, 8, 8);
	r = batches_open(&o);
	if (ftruncate(fd, 1000) < 0)
		ok(0, "truncate() shortens the file");
	batch_start(r, 0, 8);
	is(batch_next(r, &b), ERR_SHORT, "a file cut short while it is read ends the stream");
	snprintf(line, sizeof(line), "%s: the file ends inside the bytes at ", path);
	ok(strncmp(err_line(), line, strlen(line)) == 0, "the error names the shortened file");
	batch_close(r);
	is(batch_open(&o, &r), ERR_SHORT, "a shortened file is refused");
	ok(r == NULL && strncmp(err_line(), path, strlen(path)) == 0, "the refusal names the shortened file");
	if (ftruncate(fd, 0) < 0)
		ok(0, "truncate() empties the file");
	is(batch_open(&o, &r), ERR_FORMAT, "a file without records is refused");
	lseek(fd, 0, SEEK_SET);
	io_write(fd, "MZ", 2);
	is(batch_open(&o, &r), ERR_SHORT, "a file of two bytes is refused");
	io_write(fd, "this is a letter", 16);
	is(batch_open(&o, &r), ERR_FORMAT, "a file that is not a .rec is refused");
	close(fd);
	o.path = pics_path("absent.rec");
	is(batch_open(&o, &r), ERR_SYS, "a missing file is an error");
	o.path = batches_rec;
	o.batch = 0;
	is(batch_open(&o, &r), ERR_ARG, "a batch of 0 is refused");
	o.batch = 1;
	o.aug.c = 2;
	is(batch_open(&o, &r), ERR_ARG, "two channels are refused");
	o.aug.c = 3;
	o.first_micro = 1;
	is(batch_open(&o, &r), ERR_ARG, "a micro-batch beyond the step's is refused");
}

/* The cache changes no pixel, whether all images fit or not. */
static void
test_cache(void)
{
	struct batch_opt o = { .path = batches_rec, .batch = 10, .shuffle = true, .threads = 4,
		.aug = { .c = 3, .h = 8, .w = 8, .seed = 9, .rand_crop = true, .rand_mirror = true } };
	uint64_t want[3] = { digest(&o, 0), digest(&o, 1), digest(&o, 2) };

	for (size_t some = 0; some < 2; some++) {
		struct batch_reader *r;
		size_t bytes;
		int same = 1;

		o.cache = some ? 20000 : 1 << 20;
		r = batches_open(&o);
		for (uint64_t epoch = 0; epoch < 3; epoch++)
			same &= digest_of(r, &o, epoch) == want[epoch];
		ok(same, "three epochs have the same pixels with %s of the images cached", some ? "some" : "all");
		if (some)
			ok(batch_cached(r, &bytes) < BATCHES_N && bytes <= 20000 && bytes > 15000,
			    "the cache keeps as much as fits");
		else
			is(batch_cached(r, &bytes), BATCHES_N, "the cache keeps all images");
		batch_close(r);
	}
}

static void
test_labels(void)
{
	const char *path = pics_path("labels.rec");
	struct batch_opt o = { .path = path, .batch = 4, .aug = { .c = 1, .h = 4, .w = 4 } };
	struct buf png = { 0 }, body = { 0 };
	const float label[3] = { 5, 6, 7 };
	const uint8_t p[16] = { 0 };
	struct batch_reader *r;
	const struct batch *b;
	int fd = pics_create(path);

	img_encode_png(&(struct img){ p, 1, 4, 4 }, &png);
	for (uint32_t labels = 3; labels >= 1; labels--) {
		body.n = 0;
		imrec_encode(&body, labels, label, labels, png.p, png.n);
		pics_rec(fd, body.p, body.n);
	}
	close(fd);
	r = batches_open(&o);
	batch_start(r, 0, 0);
	ok(batch_next(r, &b) == 1 && b->s.n == 3 && b->s.y[0] == 5 && b->s.y[2] == 5,
	    "--label-index 0 uses the first label");
	batch_close(r);
	o.label_at = 1;
	r = batches_open(&o);
	batch_start(r, 0, 0);
	ok(batch_next(r, &b) == 1 && b->s.n == 2 && b->bad == 1 && b->s.y[0] == 6 && b->s.y[1] == 6,
	    "--label-index 1 uses the second label");
	ok(strstr(b->why[0], "id 1: it has 1 label, and none at 1") != NULL, "a record without that label is named");
	batch_close(r);
	o.label_at = 3;
	is(batch_open(&o, &r), ERR_ARG, "a label that the first record lacks is refused");
	ok(strstr(err_line(), "labels.rec: record at 0, id 3: it has 3 labels, and none at 3") != NULL,
	    "the error names the record");
	buf_free(&png);
	buf_free(&body);
}

/* Shuffling within a window of the file's order, for any division among workers. */
static void
test_window(void)
{
	struct batch_opt o = { .path = batches_rec, .batch = 10, .shuffle = true, .window = 16,
		.aug = { .c = 3, .h = 8, .w = 8, .seed = 9 } };
	struct batch_reader *r = batches_open(&o);
	int seen[BATCHES_N] = { 0 }, once = 1, near_by = 1, moved = 0;
	const struct batch *b;
	uint64_t place = 0;

	batch_start(r, 0, 0);
	while (batch_next(r, &b) > 0)
		for (uint32_t i = 0; i < b->s.n; i++, place++) {
			seen[b->id[i] - 1000]++;
			near_by &= b->id[i] - 1000 <= place + o.window;
			moved += b->id[i] - 1000 != place;
		}
	for (int i = 0; i < BATCHES_N; i++)
		once &= seen[i] == 1;
	ok(once && near_by && moved > BATCHES_N / 2, "a window reads each record once, near its place");
	batch_close(r);
}

int
main(void)
{
	batches_make();
	test_peek();
	test_cache();
	test_labels();
	test_window();
	test_threads();
	test_pixels();
	test_restart();
	test_bad_records();
	test_broken_file();
	pics_clean();
	return done();
}
