/* options - parses the command line of im2rec. */
#include "im2rec/im2rec.h"

#include "front.h"
#include "front_option.h"

#include "base/err.h"
#include "source/suffix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MOST	256
#define EXTS_MOST	16
#define PIXELS_MOST	INT32_MAX	/* libraries count in ints */
#define BYTES_MOST	((int64_t)1 << 40)

static const char im2rec_usage[] =
    "im2rec [-q] [-j n] [-o file.rec] [option ...] images ...\n"
    "       im2rec [-q] [-j n] [-o file.rec] [option ...] list.lst [root]\n"
    "       im2rec --list [-v] | --verify [-q] [-j n] file.rec ...\n"
    "       im2rec --extract [-q] -o directory file.rec\n"
    "       im2rec --cat records file.rec\n"
    "       im2rec --to-tar [-q] [-o file.tar] file.rec ...\n"
    "       im2rec [-q] --serve [--listen host:port] [--ready-fd n] --key-file file\n"
    "              file.rec ...\n"
    "       im2rec --index [-q] file.rec ...\n"
    "       im2rec --make-list -o prefix [option ...] directory";
static const char im2rec_help[] =
    "IMAGES are folders or archives of class folders, webdatasets, CIFAR or MNIST.\n"
    "Input:\n"
    "  --split train|test  pack only this part  --part I/N  every Nth item, from I on\n"
    "  --root DIR  where a list's paths begin   --rejects FILE  list what is left out\n"
    "  --labels FILE  names of the classes, one a line, in the order of their numbers\n"
    "  --label-width N  pack N labels of each item  --pack-label  all (default)\n"
    "Output:\n"
    "  -o, --output FILE.rec  and .idx, .sum, .labels (default: standard output)\n"
    "  --resume  continue an interrupted run     -q, --quiet  show no progress\n"
    "  -j, --threads N, --num-thread N (processors, at most 8)  -h, --help  --version\n"
    "More:\n"
    "  --help-pictures  resizing, cropping, encoding       --help-lists  --make-list\n"
    "  --help-records   --list --verify --extract --cat --to-tar --index --serve\n";
static const char help_pictures[] =
    "Images are copied unchanged, except with:\n"
    "  --resize N             resize the shorter side to N pixels\n"
    "  --center-crop          then crop the square in the centre\n"
    "  --crop-rounding down|even  round half of an odd margin (default: down)\n"
    "  --color color|grey|stored  convert; also 1 and 0 (default: stored)\n"
    "  --encoding jpg|png     format of changed images (default: the original)\n"
    "  --quality N            quality of JPEG, 1 to 100 (default: 95)\n"
    "  --inter-method nearest|bilinear|cubic|area|lanczos|auto\n"
    "                         also 0 to 4 and 9 (default: cubic)\n"
    "  --pass-through         copy all files unchanged\n"
    "  --max-pixels N         leave out images of more pixels (default: 67108864)\n"
    "  --max-bytes N          leave out longer files (default: 67108864)\n";
static const char help_records[] =
    "  --list                 print number, id, labels, bytes, format and offset\n"
    "  -v, --verbose          with --list: also the size of images and the checksum\n"
    "  --verify               check frame, header, image, checksum and index entry\n"
    "  --extract              write images to a directory (-o), and a list of them\n"
    "  --cat RECORDS          write images to standard output: 3 or 0-9,12 or 100-\n"
    "  --to-tar               write a webdataset: KEY.jpg or .png, and KEY.cls\n"
    "  --index                make FILE.idx and FILE.sum\n"
    "  --serve                serve the records to pworker on other hosts\n"
    "  --listen HOST:PORT     serve at this address (default: 0.0.0.0:0, any port)\n"
    "  --key-file FILE        the key: 64 hex digits (- is standard input)\n"
    "  --ready-fd N           write \"host:port\" to descriptor N when it listens\n";
static const char help_lists[] =
    "Lists as MXNet's im2rec.py makes them:\n"
    "  --make-list            write PREFIX.lst (-o PREFIX) of a directory's images\n"
    "  --recursive            each folder is a class (default: the directory alone)\n"
    "  --exts LIST            suffixes, with commas between (.jpeg,.jpg,.png)\n"
    "  --no-shuffle           keep the list sorted by name\n"
    "  --seed N               seed of the order (default: 100)\n"
    "  --chunks N             cut the list into N lists\n"
    "  --train-ratio X        write this share of each list to PREFIX_train.lst\n"
    "  --test-ratio X         this one to PREFIX_test.lst, the rest to PREFIX_val.lst\n";

static const struct front_word splits[] = { { "train", SOURCE_TRAIN }, { "test", SOURCE_TEST }, { NULL, 0 } };
static const struct front_word roundings[] = { { "down", 0 }, { "even", 1 }, { NULL, 0 } };
static const struct front_word colors[] = {
	{ "color", TRANSCODE_COLOR }, { "1", TRANSCODE_COLOR }, { "grey", TRANSCODE_GREY }, { "0", TRANSCODE_GREY },
	{ "stored", TRANSCODE_AS_STORED }, { "-1", TRANSCODE_AS_STORED }, { NULL, 0 }
};
static const struct front_word encodings[] = {
	{ "jpg", TRANSCODE_JPEG }, { ".jpg", TRANSCODE_JPEG }, { "png", TRANSCODE_PNG }, { ".png", TRANSCODE_PNG },
	{ NULL, 0 }
};
static const struct front_word inters[] = {
	{ "nearest", RESIZE_NEAREST }, { "0", RESIZE_NEAREST }, { "bilinear", RESIZE_BILINEAR },
	{ "1", RESIZE_BILINEAR }, { "cubic", RESIZE_CUBIC }, { "2", RESIZE_CUBIC }, { "area", RESIZE_AREA },
	{ "3", RESIZE_AREA }, { "lanczos", RESIZE_LANCZOS }, { "4", RESIZE_LANCZOS }, { "auto", RESIZE_AUTO },
	{ "9", RESIZE_AUTO }, { NULL, 0 }
};

/* Parses suffixes separated by commas. */
static void
parse_exts(void *im2rec, const char *option, char *text)
{
	static const char *exts[EXTS_MOST];
	struct lister_opt *l = &((struct im2rec *)im2rec)->list;
	char *copy = strdup(text), *rest = copy, *one;

	if (copy == NULL)
		front_die(option, err_nomem());
	for (l->n_exts = 0; (one = strsep(&rest, ",")) != NULL; l->n_exts++) {
		if (*one == 0 || l->n_exts == EXTS_MOST)
			front_wrong("%s: '%.64s' is not a list of 1 to %d suffixes such as .jpg,.png", option, text,
			    EXTS_MOST);
		exts[l->n_exts] = one;
	}
	l->exts = exts;
}

static void
parse_item_part(void *im2rec, const char *option, char *text)
{
	struct im2rec *o = im2rec;

	front_part(option, text, &o->in.part, &o->in.parts);
}

/* The value of --cat is the numbers of records. */
static void
choose_verb(void *im2rec, const char *option, char *text)
{
	static const struct { const char *name; im2rec_verb *verb; } verbs[] = {
		{ "--list", im2rec_list }, { "--verify", im2rec_verify }, { "--extract", im2rec_extract },
		{ "--cat", im2rec_cat }, { "--to-tar", im2rec_to_tar }, { "--index", im2rec_index },
		{ "--serve", im2rec_serve }, { "--make-list", im2rec_make_list },
	};
	struct im2rec *o = im2rec;
	size_t i = 0;

	while (strcmp(verbs[i].name, option) != 0)
		i++;
	if (o->verb != NULL && o->verb != verbs[i].verb)
		front_wrong("--list, --verify, --extract, --cat, --to-tar, --index, --serve and --make-list "
		    "exclude each other");
	o->verb = verbs[i].verb;
	o->which = text;
}

#define MEMBER(m)	FRONT_MEMBER(struct im2rec, m)

static const struct front_option pack_options[] = {
	{ "cat", FRONT_VALUE, .apply = choose_verb },
	{ "center-crop", FRONT_FLAG, MEMBER(pack.conv.crop) },
	{ "chunks", FRONT_WHOLE, MEMBER(list.chunks), 1, LISTER_CHUNKS },
	{ "color", FRONT_WORD, MEMBER(pack.conv.color), .words = colors, .text = "neither color, grey nor stored" },
	{ "crop-rounding", FRONT_WORD, MEMBER(pack.conv.crop_even), .words = roundings,
	    .text = "neither down nor even" },
	{ "encoding", FRONT_WORD, MEMBER(pack.conv.encoding), .words = encodings, .text = "neither jpg nor png" },
	{ "extract", FRONT_ACTION, .apply = choose_verb },
	{ "exts", FRONT_VALUE, .apply = parse_exts },
	{ "help-lists", FRONT_HELP, .text = help_lists },
	{ "help-pictures", FRONT_HELP, .text = help_pictures },
	{ "help-records", FRONT_HELP, .text = help_records },
	{ "index", FRONT_ACTION, .apply = choose_verb },
	{ "inter-method", FRONT_WORD, MEMBER(pack.conv.inter), .words = inters,
	    .text = "neither nearest, bilinear, cubic, area, lanczos nor auto" },
	{ "key-file", FRONT_TEXT, MEMBER(key) },
	{ "label-width", FRONT_WHOLE, MEMBER(in.label_width), 1, IMREC_LABELS },
	{ "labels", FRONT_TEXT, MEMBER(in.labels) },
	{ "list", FRONT_ACTION, .apply = choose_verb },
	{ "listen", FRONT_TEXT, MEMBER(listen) },
	{ "make-list", FRONT_ACTION, .apply = choose_verb },
	{ "max-bytes", FRONT_WHOLE, MEMBER(in.bytes), 1, BYTES_MOST },
	{ "max-pixels", FRONT_WHOLE, MEMBER(pack.conv.pixels), 1, PIXELS_MOST },
	{ "no-shuffle", FRONT_SET, MEMBER(list.shuffle), false },
	{ "num-thread", FRONT_WHOLE, MEMBER(pack.threads), 1, THREADS_MOST },
	{ "output", FRONT_TEXT, MEMBER(out), .letter = 'o' },
	{ "pack-label", FRONT_SET, MEMBER(in.label_width), 0 },
	{ "part", FRONT_VALUE, .apply = parse_item_part },
	{ "pass-through", FRONT_FLAG, MEMBER(pack.conv.pass) },
	{ "quality", FRONT_WHOLE, MEMBER(pack.conv.quality), 1, 100 },
	{ "quiet", FRONT_FLAG, MEMBER(quiet), .letter = 'q' },
	{ "ready-fd", FRONT_WHOLE, MEMBER(ready), 0, 1 << 20 },
	{ "recursive", FRONT_FLAG, MEMBER(list.recursive) },
	{ "rejects", FRONT_TEXT, MEMBER(rejects) },
	{ "resize", FRONT_WHOLE, MEMBER(pack.conv.resize), 1, 65500 },
	{ "resume", FRONT_FLAG, MEMBER(resume) },
	{ "root", FRONT_TEXT, MEMBER(in.root) },
	{ "seed", FRONT_WHOLE, MEMBER(list.seed), 0, 0x1p63 },
	{ "serve", FRONT_ACTION, .apply = choose_verb },
	{ "split", FRONT_WORD, MEMBER(in.split), .words = splits,
	    .text = "neither train nor test, which also stands for folders such as val" },
	{ "test-ratio", FRONT_REAL, MEMBER(list.test), 0, 1 },
	{ "threads", FRONT_WHOLE, MEMBER(pack.threads), 1, THREADS_MOST, .letter = 'j' },
	{ "to-tar", FRONT_ACTION, .apply = choose_verb },
	{ "train-ratio", FRONT_REAL, MEMBER(list.train), 0, 1 },
	{ "verbose", FRONT_FLAG, MEMBER(verbose), .letter = 'v' },
	{ "verify", FRONT_ACTION, .apply = choose_verb },
	{ 0 }
};

static bool
is_list(const char *path)
{
	return strcmp(path, "-") == 0 || suffix_is_list(path);
}

void
im2rec_options(struct im2rec *o, int argc, char *argv[])
{
	*o = (struct im2rec){ .ready = -1, .list = { .shuffle = true, .seed = IM2REC_SEED },
	    .in.bytes = IMG_BYTES, .pack.conv = { .inter = RESIZE_CUBIC, .pixels = IMG_PIXELS } };
	front_init(argv[0], im2rec_usage, im2rec_help);
	front_options(&argc, &argv, FRONT_ANYWHERE, pack_options, o);
	if (o->listen != NULL)
		front_address("--listen", o->listen);
	if (optind == argc)
		front_missing(argc, "no images, list or records are named");
	if (o->verb == NULL)
		o->verb = im2rec_pack;
	o->path = (const char *const *)argv + optind;
	o->paths = (size_t)(argc - optind);
	if (o->verb == im2rec_pack && o->paths == 2 && o->in.root == NULL && is_list(o->path[0])) {
		o->in.root = o->path[1];
		o->paths = 1;
	}
	o->in.path = o->path[0];
	if (o->paths > 1) {
		o->in.paths = o->path;
		o->in.n_paths = o->paths;
	}
	im2rec_check(o);
}
