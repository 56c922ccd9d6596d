/*
 * read - records into images a second: the batch reader, or decoding alone.
 *
 * Batches are what the training takes: pixels, of which the engine makes numbers.  Prints a line an epoch: images,
 * seconds, processor seconds of all threads.  With --bare the records wait in memory and each is decoded by the library
 * itself into one piece of memory a thread, as the limit beside the reader.
 */
#include "front.h"

#include "base/clk.h"
#include "base/err.h"
#include "wire/conn.h"
#include "record/imrec.h"
#include "record/recs.h"
#include "batch/batch.h"
#include "dataset/dataset_client.h"

#include <getopt.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <turbojpeg.h>

#define THREADS 64

static const char usage[] =
    "read [--bare] [--batch N] [--epochs N] [--key-file FILE] [--numbers] [--records] [--shape CxHxW] [--threads N] file.rec|host:port";
static const char help[] =
    "  --bare         decode alone\n"
    "  --batch N      (128)\n"
    "  --epochs N     (1)\n"
    "  --key-file F   of the host that holds the records\n"
    "  --numbers      make numbers of the pixels too, as an engine does on its way in; one thread\n"
    "  --records      the records alone, in order, by one thread; nothing is decoded\n"
    "  --shape CxHxW  of a sample, cropped and mirrored by chance (3x224x224)\n"
    "  --threads N    (2)\n";

/* A thread's share of the records, for --bare. */
struct lane {
	const struct recs *recs;
	struct buf	  *record;
	unsigned	   first, step;
};

static double
cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *
decode_share(void *arg)
{
	struct lane *l = arg;
	tjhandle tj = tjInitDecompress();
	struct img_codec *codec;
	struct buf pixels = { 0 };

	front_must(NULL, img_codec_new(IMG_PIXELS, &codec));
	for (uint64_t i = l->first; i < l->recs->count; i += l->step) {
		int w, h, sampling, space;
		struct imrec r;
		struct img pic;

		front_must(NULL, imrec_decode(&r, l->record[i].p, l->record[i].n));
		if (tjDecompressHeader3(tj, r.image, r.n, &w, &h, &sampling, &space) == 0) {
			pixels.n = 0;
			front_must(NULL, buf_room(&pixels, (size_t)w * (size_t)h * 3));
			tjDecompress2(tj, r.image, r.n, pixels.p, w, 0, h, TJPF_RGB, 0);
		} else {
			front_must("decode", img_decode(codec, r.image, r.n, 3, &pic));
		}
	}
	img_codec_free(codec);
	buf_free(&pixels);
	tjDestroy(tj);
	return NULL;
}

static void
bare(const struct recs *recs, unsigned threads, int epochs)
{
	struct buf *record = calloc(recs->count, sizeof(*record)), room = { 0 };
	struct lane lane[THREADS];
	pthread_t thread[THREADS];

	for (uint64_t i = 0; i < recs->count; i++) {
		const uint8_t *data;
		size_t n;

		front_must(NULL, recs->read(recs, i, &room, &data, &n));
		front_must(NULL, buf_put(&record[i], data, n));
	}
	for (int e = 0; e < epochs; e++) {
		double t = clk_s(), c = cpu_s();

		for (unsigned i = 0; i < threads; i++) {
			lane[i] = (struct lane){ recs, record, i, threads };
			pthread_create(&thread[i], NULL, decode_share, &lane[i]);
		}
		for (unsigned i = 0; i < threads; i++)
			pthread_join(thread[i], NULL);
		printf("%llu\t%.3f\t%.3f\n", (unsigned long long)recs->count, clk_s() - t, cpu_s() - c);
	}
	for (uint64_t i = 0; i < recs->count; i++)
		buf_free(&record[i]);
	buf_free(&room);
	free(record);
}

/* Wanted so many ahead of their reading. */
static void
records(const struct recs *recs, uint64_t ahead, int epochs)
{
	struct buf room = { 0 };
	const uint8_t *data;
	size_t n;

	for (int epoch = 0; epoch < epochs; epoch++) {
		double t = clk_s(), c = cpu_s();

		for (uint64_t i = 0; i < recs->count + ahead; i++) {
			if (recs->want != NULL && i < recs->count)
				recs->want(recs, i);
			if (i >= ahead)
				front_must(NULL, recs->read(recs, i - ahead, &room, &data, &n));
		}
		printf("%llu\t%.3f\t%.3f\n", (unsigned long long)recs->count, clk_s() - t, cpu_s() - c);
	}
	buf_free(&room);
}

static struct recs *
open_recs(const char *path, const char *key_file)
{
	uint8_t key[CONN_KEY];
	struct recs *r;

	if (key_file == NULL) {
		front_must(NULL, recs_open(path, &r));
	} else {
		front_must(key_file, conn_key_read(key_file, key));
		front_must(NULL, dataset_client_open(&(struct dataset_client_opt){ .addr = path, .key = key }, &r));
	}
	return r;
}

static void
batches(struct batch_opt *o, int epochs, bool numbers)
{
	size_t size = (size_t)o->aug.c * o->aug.h * o->aug.w;
	float *x = calloc(size * o->batch, sizeof(*x));
	struct batch_reader *r;
	const struct batch *b;

	front_must(NULL, batch_open(o, &r));
	for (int epoch = 0; epoch < epochs; epoch++) {
		double t = clk_s(), c = cpu_s();
		uint64_t n = 0;
		int e;

		batch_start(r, (uint64_t)epoch, 0);
		for (; (e = batch_next(r, &b)) > 0; n += b->s.n)
			if (numbers)
				samples_f32(&b->s, 0, b->s.n, x);
		front_must(NULL, e);
		printf("%llu\t%.3f\t%.3f\n", (unsigned long long)n, clk_s() - t, cpu_s() - c);
	}
	batch_close(r);
	free(x);
}

int
main(int argc, char *argv[])
{
	static const struct option longs[] = {
		{ "bare", no_argument, NULL, 'd' },
		{ "batch", required_argument, NULL, 'b' },
		{ "epochs", required_argument, NULL, 'e' },
		{ "key-file", required_argument, NULL, 'k' },
		{ "numbers", no_argument, NULL, 'n' },
		{ "records", no_argument, NULL, 'r' },
		{ "shape", required_argument, NULL, 's' },
		{ "threads", required_argument, NULL, 't' },
		{ NULL, 0, NULL, 0 }
	};
	struct batch_opt o = { .batch = 128, .shuffle = true, .threads = 2, .aug = { .c = 3, .h = 224, .w = 224,
	    .rand_crop = true, .rand_mirror = true, .mean_of = { 123.68f, 116.78f, 103.94f } } };
	struct recs *recs;
	int c, epochs = 1, is_bare = 0, is_records = 0, is_numbers = 0;
	const char *key = NULL;

	front_init("read", usage, help);
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1)
		switch (c) {
		case 'b': o.batch = (uint32_t)front_num("--batch", optarg, 1, 65536); break;
		case 'd': is_bare = 1; break;
		case 'e': epochs = (int)front_num("--epochs", optarg, 1, 1000); break;
		case 'k': key = optarg; break;
		case 'n': is_numbers = 1; break;
		case 'r': is_records = 1; break;
		case 's':
			if (sscanf(optarg, "%ux%ux%u", &o.aug.c, &o.aug.h, &o.aug.w) != 3)
				front_usage();
			break;
		case 't': o.threads = (unsigned)front_num("--threads", optarg, 1, THREADS); break;
		default:  front_usage();
		}
	if (optind + 1 != argc)
		front_usage();
	recs = open_recs(argv[optind], key);
	o.recs = recs;
	if (is_bare)
		bare(recs, o.threads, epochs);
	else if (is_records)
		records(recs, 4 * (uint64_t)o.batch, epochs);
	else
		batches(&o, epochs, is_numbers);
	recs_close(recs);
	return 0;
}
