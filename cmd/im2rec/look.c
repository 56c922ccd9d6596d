/* look - im2rec --list, --verify and --index: lists and checks records, and makes their index. */
#include "im2rec/im2rec.h"

#include "base/err.h"
#include "image/img.h"
#include "record/beside.h"
#include "record/check.h"
#include "record/idx.h"
#include "record/imrec.h"
#include "record/newtext.h"
#include "record/recwalk.h"
#include "record/sum.h"
#include "source/label.h"
#include "front.h"
#include "front_progress.h"

#include <inttypes.h>
#include <stdio.h>

#define FORMAT	16u				/* the first bytes of an image, which tell its format */
#define PEEK	(IMREC_HEAD + 64 * 4 + 4 * FORMAT)	/* the header, some labels, and these */

static struct recwalk *
open_walk(const char *path, uint32_t peek)
{
	struct recwalk *w;
	int e = recwalk_open(path, peek, &w);

	if (e < 0)
		front_warn(NULL, e);
	return w;
}

/* Prints width, height and channels, if the image's header has them, and the checksum. */
static void
print_details(struct img_codec *codec, const struct imrec *rec, const struct recwalk_rec *r)
{
	struct img_head h;

	if (img_head(codec, rec->image, rec->n, &h) == 0)
		printf("\t%" PRIu32 "x%" PRIu32 "x%" PRIu32, h.w, h.h, h.c);
	else
		fputs("\t-", stdout);
	printf("\t%016" PRIx64, r->sum);
}

/* Prints the labels as lists have them. */
static int
print_labels(const struct imrec *rec)
{
	struct buf text = { 0 };
	int e = 0;

	for (uint32_t i = 0; e == 0 && i < rec->labels; i++)
		if (i == 0 || (e = buf_put(&text, ",", 1)) == 0)
			e = label_put(&text, imrec_label(rec, i));
	if (e == 0)
		fwrite(text.p, 1, text.n, stdout);
	buf_free(&text);
	return e;
}

static int
print_record(struct recwalk *w, struct recwalk_rec *r, uint64_t number, struct img_codec *codec)
{
	const char *suffix;
	struct imrec rec;
	int e;

	/* The labels may reach to the end of the PEEK bytes. */
	e = imrec_decode(&rec, r->data, r->n);
	if ((e < 0 || (rec.n < FORMAT && r->n < r->whole)) &&
	    ((e = recwalk_load(w, r)) < 0 || (e = imrec_decode(&rec, r->data, r->n)) < 0))
		return e;
	printf("%" PRIu64 "\t%" PRIu64 "\t", number, rec.id);
	ERR_TRY(print_labels(&rec));
	suffix = img_suffix(rec.image, rec.n);
	printf("\t%zu\t%s\t%" PRIu64, rec.n + (r->whole - r->n), suffix != NULL ? suffix : "?", r->at);
	if (codec != NULL)
		print_details(codec, &rec, r);
	putchar('\n');
	return 0;
}

int
im2rec_list(const struct im2rec *o)
{
	struct img_codec *codec = NULL;
	int e;

	im2rec_watch_input(o);
	if (o->verbose && (e = img_codec_new(UINT32_MAX, &codec)) < 0)
		front_die(NULL, e);
	for (size_t i = 0; i < o->paths; i++) {
		struct recwalk *w = open_walk(o->path[i], o->verbose ? 0 : PEEK);
		struct recwalk_rec r;
		uint64_t number = 0;

		while (w != NULL && (e = recwalk_next(w, &r)) != 0 && (e > 0 || e == ERR_ITEM))
			if (e < 0)
				front_warn(NULL, e);
			else if ((e = print_record(w, &r, number++, codec)) < 0)
				front_warn(NULL, err_wrap(e, "%s: record at %" PRIu64, o->path[i], r.at));
		if (w != NULL && e < 0)
			front_die(NULL, e);
		recwalk_close(w);
	}
	img_codec_free(codec);
	return front_status();
}

static int
report_bad_record(void *ctx, int e)
{
	(void)ctx;
	if (im2rec_watch_check() < 0)
		return ERR_STOP;
	im2rec_name_limit(e);
	front_warn(NULL, e);
	return 0;
}

static int
show_step(void *watch, uint64_t records, uint64_t bytes, double share)
{
	return im2rec_watch_step(watch, records, bytes, share);
}

int
im2rec_verify(const struct im2rec *o)
{
	static const char *const index[] = { "no index", "index agrees", "index differs" };
	static const char *const sums[] = { "no sums", "sums agree", "sums differ" };
	struct im2rec_watch watch;
	const struct check_sink sink = { report_bad_record, show_step, &watch };

	im2rec_watch_input(o);
	im2rec_watch_start(&watch, o->quiet);
	for (size_t i = 0; i < o->paths; i++) {
		struct check_found f;
		int e = check_run(o->path[i], o->pack.threads, o->pack.conv.pixels, &sink, &f);

		if (e == ERR_STOP || im2rec_watch_check() < 0)
			break;
		progress_clear();
		if (e < 0)
			front_warn(NULL, e);
		else if (!o->quiet)
			printf("%s: %" PRIu64 " records, %" PRIu64 " bad, %s, %s\n", o->path[i], f.records, f.bad,
			    index[f.index], sums[f.sums]);
	}
	im2rec_watch_end();
	return front_status();
}

/* Writes the lines of a record to both files. */
static int
put_index_lines(const char *path, struct newtext *idx, struct newtext *sum, const struct recwalk_rec *r)
{
	struct imrec rec;

	if (imrec_decode(&rec, r->data, r->n) < 0)
		return err_wrap(ERR_ITEM, "%s: record at %" PRIu64, path, r->at);
	ERR_TRY(idx_put(&idx->wait, rec.id, r->at));
	ERR_TRY(sum_put(&sum->wait, &(struct sum_line){ r->at, r->bytes, r->sum }));
	ERR_TRY(newtext_step(idx));
	return newtext_step(sum);
}

/* Lists only sound records, so that readers with this index skip damage. */
static int
index_file(const char *path, struct im2rec_watch *watch, struct newtext *idx, struct newtext *sum)
{
	struct recwalk *w = NULL;
	struct recwalk_rec r;
	uint64_t n = 0;
	int e;

	if ((e = recwalk_open(path, 0, &w)) < 0 || (e = newtext_create(idx, beside_name(path, ".idx"))) < 0 ||
	    (e = newtext_create(sum, beside_name(path, ".sum"))) < 0) {
		recwalk_close(w);
		return e;
	}
	while ((e = recwalk_next(w, &r)) > 0 || e == ERR_ITEM) {
		if (e > 0)
			e = put_index_lines(path, idx, sum, &r);
		if (e == ERR_ITEM)
			front_warn(NULL, e);
		else if (e < 0)
			break;
		if ((e = im2rec_watch_step(watch, ++n, r.at,
		    recwalk_size(w) > 0 ? (double)r.at / (double)recwalk_size(w) : -1)) < 0)
			break;
	}
	recwalk_close(w);
	if (e == 0 && (e = newtext_seal(idx)) == 0 && (e = newtext_seal(sum)) == 0 && (e = newtext_commit(sum)) == 0)
		e = newtext_commit(idx);
	return e;
}

int
im2rec_index(const struct im2rec *o)
{
	struct im2rec_watch watch;

	for (size_t i = 0; i < o->paths; i++)
		if (strcmp(o->path[i], "-") == 0)
			front_wrong("--index: standard input has no place for an index beside it");
	im2rec_watch_start(&watch, o->quiet);
	for (size_t i = 0; i < o->paths; i++) {
		struct newtext idx = { 0 }, sum = { 0 };
		int e = index_file(o->path[i], &watch, &idx, &sum);

		newtext_free(&idx);
		newtext_free(&sum);
		if (e == ERR_STOP)
			break;
		if (e < 0)
			front_warn(NULL, e);
	}
	im2rec_watch_end();
	return front_status();
}
