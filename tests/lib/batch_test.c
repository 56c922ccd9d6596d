/* batch_test - each record once an epoch, over any cut; the same pixels for any number of threads. */
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
		ok(digest(&o, 0) == one, "%u threads give what 1 does", o.threads);
	o.aug.seed = 10;
	ok(digest(&o, 0) != one, "seeds differ");
}

/* Workers' pieces together are what a single worker of as many pieces reads. */
static void
test_cut(uint32_t workers, uint32_t batch)
{
	struct batch_opt o = { .path = batches_rec, .batch = batch, .aug = { .c = 3, .h = 8, .w = 8, .seed = 4 }, .shuffle = true,
		.micros = workers, .my_micros = workers };
	struct batch_reader *whole = batches_open(&o), *part[8];
	int seen[BATCHES_N] = { 0 }, same = 1, once = 1, even = 1;
	const struct batch *a, *b;

	for (uint32_t w = 0; w < workers; w++) {
		struct batch_opt mine = o;

		mine.first_micro = w;
		mine.my_micros = 1;
		part[w] = batches_open(&mine);
		batch_start(part[w], 3, 0);
	}
	batch_start(whole, 3, 0);
	for (uint64_t step = 0; step < batch_steps(whole); step++) {
		uint32_t least = UINT32_MAX, most = 0;

		for (uint32_t w = 0; w < workers; w++) {
			same &= batch_next(whole, &a) == 1 && batch_next(part[w], &b) == 1;
			same &= a->s.n == b->s.n && a->step == step && b->step == step;
			same &= memcmp(numbers(&a->s), numbers(&b->s), (size_t)a->s.n * 3 * 8 * 8 * 4) == 0;
			for (uint32_t i = 0; i < a->s.n; i++) {
				same &= a->id[i] == b->id[i] && a->s.y[i] == b->s.y[i];
				seen[a->id[i] - 1000]++;
			}
			least = a->s.n < least ? a->s.n : least;
			most = a->s.n > most ? a->s.n : most;
		}
		even &= most - least <= 1;
	}
	same &= batch_next(whole, &a) == 0;
	for (uint32_t w = 0; w < workers; w++) {
		same &= batch_next(part[w], &b) == 0;
		batch_close(part[w]);
	}
	for (int i = 0; i < BATCHES_N; i++)
		once &= seen[i] == 1;
	batch_close(whole);
	ok(same, "%u workers of batch %u read what one reads in their stead", workers, batch);
	ok(once, "%u workers of batch %u: each record once", workers, batch);
	ok(even, "%u workers of batch %u: the last step is cut evenly", workers, batch);
}

/* What is looked at before it is its turn is what comes, and changes nothing of what was given last. */
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
	is(looked, batch_steps(plain) - 1, "each batch but the first can be looked at before");
	is(wrong, 0, "... and all are what they are without that");
	is(batch_next(r, &b), 0, "... to the end");
	is(batch_peek(r, &next), 0, "... where nothing is seen");
	batch_start(r, 2, 0);
	while (batch_peek(r, &next) == 0)
		sched_yield();
	is(batch_start(r, 1, 3), 0, "a start elsewhere");
	is(batch_next(r, &b) == 1 ? (int)b->step : -1, 3, "... drops what was looked at");
	batch_close(r);
	batch_close(plain);
}

/* Workers whose batches differ: steps of 7 + 2 + 11 = 20 records, and the last one's 1 is dealt alike. */
static void
test_sizes(uint64_t limit, const char *want)
{
	static const uint32_t sizes[] = { 7, 2, 11 };
	char got[256] = "";
	int seen[BATCHES_N] = { 0 }, once = 1;
	const struct batch *b;

	for (uint32_t w = 0; w < 3; w++) {
		struct batch_opt o = { .path = batches_rec, .batch = sizes[w], .sizes = sizes, .aug = { .c = 3, .h = 8, .w = 8, .seed = 4 },
			.shuffle = true, .micros = 3, .first_micro = w, .my_micros = 1, .limit = limit };
		struct batch_reader *r = batches_open(&o);

		batch_start(r, 1, 0);
		while (batch_next(r, &b) == 1) {
			snprintf(got + strlen(got), sizeof(got) - strlen(got), " %u", b->s.n);
			for (uint32_t i = 0; i < b->s.n; i++)
				seen[b->id[i] - 1000]++;
		}
		batch_close(r);
	}
	is_str(got, want, "%u records for workers of 7, 2 and 11", (unsigned)limit);
	for (uint64_t i = 0; i < BATCHES_N; i++)
		once &= seen[i] == (i < limit ? 1 : 0);
	ok(once, "... each once");
}

static void
test_no_sizes(void)
{
	struct batch_opt o = { .path = batches_rec, .batch = 6, .sizes = (const uint32_t[]){ 7, 2 }, .aug = { .c = 3, .h = 8, .w = 8 },
		.micros = 2, .my_micros = 1 };
	struct batch_reader *r;

	is(batch_open(&o, &r), ERR_ARG, "a piece longer than the batch is refused");
	o.sizes = (const uint32_t[]){ 6, 0 };
	is(batch_open(&o, &r), ERR_ARG, "so is an empty one");
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
	is(batch_next(r, &b), 1, "one batch of all");
	is(b->s.n, BATCHES_N, "with all");
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
	ok(order, "not shuffled: in the file's order, with ids and classes");
	ok(same, "planes of the centre crop, less the mean, scaled");
	batch_close(r);
	o.aug.mean = NULL;
	o.limit = 13;
	o.batch = 5;
	o.aug.c = 1;
	r = batches_open(&o);
	is(batch_records(r), 13, "a limit counts");
	is(batch_steps(r), 3, "and gives its steps");
	batch_start(r, 0, 2);
	is(batch_next(r, &b), 1, "started at step 2");
	ok(b->step == 2 && b->s.n == 3 && b->id[0] == 1010, "it gives the last three");
	is(batch_next(r, &b), 0, "and the end");
	is(batch_next(r, &b), 0, "again and again");
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
	ok(same, "started anew again and again while threads decode");
	batch_start(r, 6, 0);
	batch_close(r);
	ok(1, "closed while threads decode");
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
	is(batch_next(r, &b), 1, "a batch with bad records in it");
	is(b->s.n, 3, "the good ones are there");
	is(b->bad, 5, "the bad ones are counted");
	ok(b->id[0] == 0 && b->id[1] == 2 && b->id[2] == 7 && b->s.y[1] == 2 && b->s.y[2] == 4, "without gaps");
	for (int i = 0; i < 8; i++)
		moved &= numbers(&b->s)[64 * 3 + i] == (float)pixels[i * 3];
	ok(moved, "samples moved up");
	snprintf(want, sizeof(want), "%s: record at %lld, id 1: not JPEG, PNG or WebP", path, (long long)at);
	is_str(b->why[0], want, "the first one's name and reason");
	batch_close(r);
}

/* What the reader did not look at when it opened the file. */
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
		ok(0, "truncate");
	batch_start(r, 0, 8);
	is(batch_next(r, &b), ERR_SHORT, "a file cut short while it is read ends the stream");
	snprintf(line, sizeof(line), "%s: the file ends inside the bytes at ", path);
	ok(strncmp(err_line(), line, strlen(line)) == 0, "the line names it");
	batch_close(r);
	is(batch_open(&o, &r), ERR_SHORT, "it is not opened again");
	ok(r == NULL && strncmp(err_line(), path, strlen(path)) == 0, "the line names it");
	if (ftruncate(fd, 0) < 0)
		ok(0, "truncate");
	is(batch_open(&o, &r), ERR_FORMAT, "no records");
	lseek(fd, 0, SEEK_SET);
	io_write(fd, "MZ", 2);
	is(batch_open(&o, &r), ERR_SHORT, "two bytes");
	io_write(fd, "this is a letter", 16);
	is(batch_open(&o, &r), ERR_FORMAT, "a foreign file");
	close(fd);
	o.path = pics_path("absent.rec");
	is(batch_open(&o, &r), ERR_SYS, "no file");
	o.path = batches_rec;
	o.batch = 0;
	is(batch_open(&o, &r), ERR_ARG, "no batch");
	o.batch = 1;
	o.aug.c = 2;
	is(batch_open(&o, &r), ERR_ARG, "two channels");
	o.aug.c = 3;
	o.first_micro = 1;
	is(batch_open(&o, &r), ERR_ARG, "a piece beyond the step's");
}

/* What is kept in memory changes no pixel, whether all of it fits or not. */
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
		ok(same, "three epochs from memory, %s of the pictures", some ? "some" : "all");
		if (some)
			ok(batch_cached(r, &bytes) < BATCHES_N && bytes <= 20000 && bytes > 15000, "as much as fits is kept");
		else
			is(batch_cached(r, &bytes), BATCHES_N, "all are kept");
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
	ok(batch_next(r, &b) == 1 && b->s.n == 3 && b->s.y[0] == 5 && b->s.y[2] == 5, "the first label is the class");
	batch_close(r);
	o.label_at = 1;
	r = batches_open(&o);
	batch_start(r, 0, 0);
	ok(batch_next(r, &b) == 1 && b->s.n == 2 && b->bad == 1 && b->s.y[0] == 6 && b->s.y[1] == 6, "or the second");
	ok(strstr(b->why[0], "id 1: it has 1 label, and none at 1") != NULL, "a record without it is named");
	batch_close(r);
	o.label_at = 3;
	is(batch_open(&o, &r), ERR_ARG, "a label that the first record has not");
	ok(strstr(err_line(), "labels.rec: record at 0, id 3: it has 3 labels, and none at 3") != NULL, "... which is named");
	buf_free(&png);
	buf_free(&body);
}

/* Near the records' own order, over any cut. */
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
	ok(once && near_by && moved > BATCHES_N / 2, "a window over a file: each record once, shuffled near its place");
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
	test_cut(1, 10);
	test_cut(2, 10);
	test_cut(3, 7);
	test_cut(8, 16);
	test_cut(7, 1);
	test_sizes(40, " 7 7 2 2 11 11");
	test_sizes(47, " 7 7 2 2 2 1 11 11 4");
	test_no_sizes();
	test_pixels();
	test_restart();
	test_bad_records();
	test_broken_file();
	pics_clean();
	return done();
}
