/* check - refuses options of im2rec without effect, and an output that is an input or has the name of another kind. */
#include "im2rec/im2rec.h"

#include "base/io.h"
#include "record/beside.h"
#include "source/suffix.h"
#include "front.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Endings of lists, and of the files beside records. */
static const char *const texts[] = { ".lst", ".idx", ".sum", ".labels", ".names", NULL };

static bool
ends_in_one(const char *path, const char *const *suffixes)
{
	for (; *suffixes != NULL; suffixes++)
		if (suffix_is(path, strlen(path), *suffixes))
			return true;
	return false;
}

static void
check_verb(const struct im2rec *o)
{
	const struct transcode_opt *c = &o->pack.conv;
	const struct lister_opt *l = &o->list;
	bool packs = o->verb == im2rec_pack, lists = o->verb == im2rec_make_list, serves = o->verb == im2rec_serve;
	bool verifies = o->verb == im2rec_verify;
	bool writes = packs || lists || o->verb == im2rec_extract || o->verb == im2rec_to_tar;
	const struct { bool given, fits; const char *option, *with; } all[] = {
		{ o->out != NULL, o->verb != im2rec_cat, "output", "packing; --cat writes to standard output" },
		{ o->out != NULL, writes, "output", "packing, --to-tar, --extract and --make-list" },
		{ c->resize > 0, packs, "resize", "packing" },
		{ c->crop, packs, "center-crop", "packing" },
		{ c->crop_even, packs, "crop-rounding", "packing" },
		{ c->color != TRANSCODE_AS_STORED, packs, "color", "packing" },
		{ c->encoding != TRANSCODE_AS_IT_WAS, packs, "encoding", "packing" },
		{ c->quality > 0, packs, "quality", "packing" },
		{ c->inter != RESIZE_CUBIC, packs && c->resize > 0, "inter-method", "--resize" },
		{ c->pass, packs, "pass-through", "packing" },
		{ c->pixels != IMG_PIXELS, packs || verifies, "max-pixels", "packing and --verify" },
		{ o->in.bytes != IMG_BYTES, packs, "max-bytes", "packing" },
		{ o->in.split != SOURCE_ALL, packs, "split", "packing" },
		{ o->in.parts > 0, packs, "part", "packing" },
		{ o->in.labels != NULL, packs, "labels", "packing" },
		{ o->in.label_width > 0, packs, "label-width", "packing" },
		{ o->in.root != NULL, packs, "root", "packing" },
		{ o->rejects != NULL, packs, "rejects", "packing" },
		{ o->resume, packs, "resume", "packing" },
		{ l->n_exts > 0, lists, "exts", "--make-list" },
		{ l->recursive, lists, "recursive", "--make-list" },
		{ !l->shuffle, lists, "no-shuffle", "--make-list" },
		{ l->seed != IM2REC_SEED, lists, "seed", "--make-list" },
		{ l->chunks > 0, lists, "chunks", "--make-list" },
		{ l->train > 0, lists, "train-ratio", "--make-list" },
		{ l->test > 0, lists, "test-ratio", "--make-list" },
		{ o->listen != NULL, serves, "listen", "--serve" },
		{ o->key != NULL, serves, "key-file", "--serve" },
		{ o->ready >= 0, serves, "ready-fd", "--serve" },
		{ o->verbose, o->verb == im2rec_list, "verbose", "--list" },
		{ o->pack.threads > 0, packs || verifies, "threads", "packing and --verify" },
		{ o->quiet, !lists && o->verb != im2rec_list && o->verb != im2rec_cat, "quiet",
		    "packing, --verify, --extract, --to-tar, --index and --serve" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i].given && !all[i].fits)
			front_wrong("--%s: goes only with %s", all[i].option, all[i].with);
}

/* Refuses the name of another kind of file: the records would have it, or their index, and no reader would know. */
static void
check_name(const struct im2rec *o)
{
	static const char *const archives[] = { ".gz", ".tgz", ".bz2", ".xz", ".zst", ".zip", ".7z", NULL };
	const char *out = o->out;

	if (out == NULL || o->verb == im2rec_make_list || o->verb == im2rec_extract)
		return;
	if (o->verb == im2rec_to_tar && (ends_in_one(out, texts) || suffix_is(out, strlen(out), ".rec")))
		front_wrong("-o: %s would hold a webdataset; name it FILE.tar", out);
	if (o->verb == im2rec_to_tar && ends_in_one(out, archives))
		front_wrong("-o: %s would hold a tar archive, not compressed; name it FILE.tar", out);
	if (o->verb == im2rec_pack && suffix_archive(out) > 0)
		front_wrong("-o: %s would hold records and no archive; name it FILE.rec", out);
	if (o->verb == im2rec_pack && suffix_is_image(out))
		front_wrong("-o: %s would hold records and no image; name it FILE.rec", out);
	if (o->verb == im2rec_pack && ends_in_one(out, texts))
		front_wrong("-o: %s would hold records and no text; name it FILE.rec", out);
}

/* Refuses rejects that would replace a file of the records. */
static void
check_rejects_beside(const struct im2rec *o)
{
	static const char *const added[] = { "", ".partial", ".journal" };
	static const char *const beside[] = { ".idx", ".sum", ".labels" };
	char name[PATH_MAX];

	for (size_t i = 0; i < sizeof(added) / sizeof(*added); i++) {
		snprintf(name, sizeof(name), "%s%s", o->out, added[i]);
		if (io_is_same(o->rejects, name))
			front_wrong("--rejects: %s is a file of -o; name another", o->rejects);
	}
	for (size_t i = 0; i < sizeof(beside) / sizeof(*beside); i++) {
		char *path = beside_name(o->out, beside[i]);
		bool same = path != NULL && io_is_same(o->rejects, path);

		free(path);
		if (same)
			front_wrong("--rejects: %s is a file of -o; name another", o->rejects);
	}
}

/* Refuses rejects with the name of an image or another input, which may be one of a folder or a list. */
static void
check_rejects_name(const char *rejects)
{
	char real[PATH_MAX];
	const char *name = realpath(rejects, real) != NULL ? real : rejects;
	bool text = ends_in_one(name, texts) || suffix_is(name, strlen(name), ".rec");

	if (suffix_is_image(name) || suffix_archive(name) > 0 || suffix_is_raw(name) || text)
		front_wrong("--rejects: %s would hold names and reasons, and no %s; name it FILE.txt", rejects,
		    text ? "list or records" : "image or archive");
}

/* Refuses an output that would replace an input, or another output. */
static void
check_inputs(const struct im2rec *o)
{
	bool file = o->out != NULL && strcmp(o->out, "-") != 0;
	const char *what = file ? "-o" : "standard output";
	const char *out = o->verb == im2rec_pack || o->verb == im2rec_to_tar ? file ? o->out : "-" : NULL;

	front_output(what, out, o->path, o->paths);
	front_output(what, out, &o->in.labels, 1);
	if (o->rejects == NULL)
		return;
	front_output("--rejects", o->rejects, o->path, o->paths);
	front_output("--rejects", o->rejects, &o->in.labels, 1);
	if (!file && io_is_same(o->rejects, "-"))
		front_wrong("--rejects: %s is standard output, which has the records; name another", o->rejects);
	if (file)
		check_rejects_beside(o);
	check_rejects_name(o->rejects);
}

void
im2rec_check(const struct im2rec *o)
{
	const struct transcode_opt *c = &o->pack.conv;

	check_verb(o);
	check_inputs(o);
	check_name(o);
	for (size_t i = 0; i < o->paths && o->paths > 1 && o->verb == im2rec_pack; i++)
		if (suffix_is_list(o->path[i]))
			front_wrong("%s: a list stands alone, or before the one folder in which its paths start",
			    o->path[i]);
	if (c->quality > 0 && c->encoding == TRANSCODE_AS_IT_WAS && c->resize == 0 && !c->crop &&
	    c->color == TRANSCODE_AS_STORED && !c->pass)
		front_say("--quality: JPEG and PNG images are copied as they are without --resize, --center-crop, "
		    "--color or --encoding");
}
