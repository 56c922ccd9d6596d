/* options - parses the command line of im2rec. */
#include "im2rec/im2rec.h"

#include "front.h"
#include "front_option.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MOST	256
#define EXTS_MOST	16
#define PIXELS_MOST	INT32_MAX	/* libraries count in ints */
#define BYTES_MOST	((int64_t)1 << 40)

static const char usage[] =
    "im2rec [-q] [-j n] [-o file.rec] [option ...] images ...\n"
    "       im2rec [-q] [-j n] [-o file.rec] [option ...] list.lst [root]\n"
    "       im2rec --list [-v] file.rec ...\n"
    "       im2rec --verify [-q] [-j n] file.rec ...\n"
    "       im2rec --extract -o directory file.rec\n"
    "       im2rec --cat records file.rec\n"
    "       im2rec --to-tar [-o file.tar] file.rec ...\n"
    "       im2rec [-q] --serve [--listen host:port] [--ready-fd n] --key-file file file.rec ...\n"
    "       im2rec --index file.rec ...\n"
    "       im2rec --make-list -o prefix [option ...] directory";
static const char help[] =
    "IMAGES are directories or archives of class folders, webdataset shards, CIFAR or MNIST files.\n"
    "Input:\n"
    "  --split train|test  pack only this part    --part I/N  only every Nth item from item I on\n"
    "  --root DIR  of the paths in a list         --rejects FILE  write what is left out, and why\n"
    "Labels:\n"
    "  --labels FILE  names of the classes, one a line, in the order of their numbers\n"
    "  --label-width N  pack the first N labels of each item    --pack-label  all of them (default)\n"
    "Output:\n"
    "  -o, --output FILE.rec  and .idx, .sum and .labels (default: records to standard output)\n"
    "  --resume  continue an interrupted run of the same command          -q, --quiet  no progress\n"
    "  -j, --threads N, --num-thread N (one per processor, at most 8)     -h, --help  --version\n"
    "More:\n"
    "  --help-pictures  resizing, cropping, encoding        --help-lists  --make-list\n"
    "  --help-records   --list, --verify, --extract, --cat, --to-tar, --index, --serve\n";
static const char help_pictures[] =
    "Images are copied unchanged, except with:\n"
    "  --resize N             resize the shorter side to N pixels\n"
    "  --center-crop          then crop the square in the centre\n"
    "  --crop-rounding down|even  of an odd margin: as MXNet (default) or as torchvision\n"
    "  --color color|grey|stored  convert; also 1 and 0 (default: stored)\n"
    "  --encoding jpg|png     encode changed images as this (default: the original format)\n"
    "  --quality N            quality of JPEG, 1 to 100 (default: 95)\n"
    "  --inter-method nearest|bilinear|cubic|area|lanczos|auto  also 0 to 4 and 9 (default: cubic)\n"
    "  --pass-through         copy all files unchanged\n"
    "  --max-pixels N         leave out images of more pixels (default: 67108864)\n"
    "  --max-bytes N          leave out longer files (default: 67108864)\n";
static const char help_records[] =
    "  --list                 print number, id, labels, bytes, format and offset of each record\n"
    "  -v, --verbose          with --list: also width x height x channels and the checksum\n"
    "  --verify               check each record's frame, header, image, checksum and index entry\n"
    "  --extract              write the images to a directory (-o), with a list to pack them again\n"
    "  --cat RECORDS          write images to standard output: 3 or 0-9,12 or 100-\n"
    "  --to-tar               write a webdataset: KEY.jpg or .png, and KEY.cls\n"
    "  --index                make FILE.idx and FILE.sum\n"
    "  --serve                serve the records to pworkers that hold the key, until a signal\n"
    "  --listen HOST:PORT     serve at this address (default: 0.0.0.0:0, any port)\n"
    "  --key-file FILE        the key: 64 hex digits (- is standard input, /dev/fd/N a pipe)\n"
    "  --ready-fd N           write \"host:port\" and a newline to descriptor N once it listens\n";
static const char help_lists[] =
    "Lists as MXNet's im2rec.py makes them:\n"
    "  --make-list            write PREFIX.lst (-o PREFIX) of a directory's images\n"
    "  --recursive            each folder is a class (default: only the directory's own images)\n"
    "  --exts LIST            suffixes of images, separated by commas (default: .jpeg,.jpg,.png)\n"
    "  --no-shuffle           keep the list sorted by name\n"
    "  --seed N               seed of the order (default: 100)\n"
    "  --chunks N             cut the list into N lists\n"
    "  --train-ratio X        write this share of each list to PREFIX_train.lst\n"
    "  --test-ratio X         write this share to PREFIX_test.lst, and the rest to PREFIX_val.lst\n";

enum {
	O_BYTES = 256, O_CAT, O_CHUNKS, O_COLOR, O_CROP, O_ENCODING, O_EXTRACT, O_EXTS, O_HELP, O_HELP_LISTS,
	O_HELP_PICTURES, O_HELP_RECORDS, O_INDEX, O_INTER, O_KEY, O_LABELS, O_WIDTH, O_LIST, O_LISTEN,
	O_MAKE, O_PIXELS, O_NOSHUFFLE, O_THREADS, O_PACKLABEL, O_PART, O_PASS, O_QUALITY, O_READY,
	O_RECURSIVE, O_REJECTS, O_RESIZE, O_RESUME, O_ROOT, O_ROUNDING, O_SERVE, O_SEED, O_SPLIT, O_TEST, O_TAR,
	O_TRAIN, O_VERIFY, O_VERSION
};

static const struct option longs[] = {
	{ "cat", required_argument, NULL, O_CAT },
	{ "center-crop", no_argument, NULL, O_CROP },
	{ "chunks", required_argument, NULL, O_CHUNKS },
	{ "color", required_argument, NULL, O_COLOR },
	{ "crop-rounding", required_argument, NULL, O_ROUNDING },
	{ "encoding", required_argument, NULL, O_ENCODING },
	{ "extract", no_argument, NULL, O_EXTRACT },
	{ "exts", required_argument, NULL, O_EXTS },
	{ "help", no_argument, NULL, O_HELP },
	{ "help-lists", no_argument, NULL, O_HELP_LISTS },
	{ "help-pictures", no_argument, NULL, O_HELP_PICTURES },
	{ "help-records", no_argument, NULL, O_HELP_RECORDS },
	{ "index", no_argument, NULL, O_INDEX },
	{ "inter-method", required_argument, NULL, O_INTER },
	{ "key-file", required_argument, NULL, O_KEY },
	{ "label-width", required_argument, NULL, O_WIDTH },
	{ "labels", required_argument, NULL, O_LABELS },
	{ "list", no_argument, NULL, O_LIST },
	{ "listen", required_argument, NULL, O_LISTEN },
	{ "make-list", no_argument, NULL, O_MAKE },
	{ "max-bytes", required_argument, NULL, O_BYTES },
	{ "max-pixels", required_argument, NULL, O_PIXELS },
	{ "no-shuffle", no_argument, NULL, O_NOSHUFFLE },
	{ "num-thread", required_argument, NULL, O_THREADS },
	{ "output", required_argument, NULL, 'o' },
	{ "pack-label", no_argument, NULL, O_PACKLABEL },
	{ "part", required_argument, NULL, O_PART },
	{ "pass-through", no_argument, NULL, O_PASS },
	{ "quality", required_argument, NULL, O_QUALITY },
	{ "quiet", no_argument, NULL, 'q' },
	{ "ready-fd", required_argument, NULL, O_READY },
	{ "recursive", no_argument, NULL, O_RECURSIVE },
	{ "rejects", required_argument, NULL, O_REJECTS },
	{ "resize", required_argument, NULL, O_RESIZE },
	{ "resume", no_argument, NULL, O_RESUME },
	{ "root", required_argument, NULL, O_ROOT },
	{ "seed", required_argument, NULL, O_SEED },
	{ "serve", no_argument, NULL, O_SERVE },
	{ "split", required_argument, NULL, O_SPLIT },
	{ "test-ratio", required_argument, NULL, O_TEST },
	{ "threads", required_argument, NULL, 'j' },
	{ "to-tar", no_argument, NULL, O_TAR },
	{ "train-ratio", required_argument, NULL, O_TRAIN },
	{ "verbose", no_argument, NULL, 'v' },
	{ "verify", no_argument, NULL, O_VERIFY },
	{ "version", no_argument, NULL, O_VERSION },
	{ NULL, 0, NULL, 0 }
};

struct word {
	const char	*name;
	int		 code;
};

static const struct word splits[] = { { "train", SOURCE_TRAIN }, { "test", SOURCE_TEST }, { NULL, 0 } };
static const struct word roundings[] = { { "down", 0 }, { "even", 1 }, { NULL, 0 } };
static const struct word colors[] = {
	{ "color", TRANSCODE_COLOR }, { "1", TRANSCODE_COLOR }, { "grey", TRANSCODE_GREY }, { "0", TRANSCODE_GREY },
	{ "stored", TRANSCODE_AS_STORED }, { "-1", TRANSCODE_AS_STORED }, { NULL, 0 }
};
static const struct word encodings[] = {
	{ "jpg", TRANSCODE_JPEG }, { ".jpg", TRANSCODE_JPEG }, { "png", TRANSCODE_PNG }, { ".png", TRANSCODE_PNG },
	{ NULL, 0 }
};
static const struct word inters[] = {
	{ "nearest", RESIZE_NEAREST }, { "0", RESIZE_NEAREST }, { "bilinear", RESIZE_BILINEAR },
	{ "1", RESIZE_BILINEAR }, { "cubic", RESIZE_CUBIC }, { "2", RESIZE_CUBIC }, { "area", RESIZE_AREA },
	{ "3", RESIZE_AREA }, { "lanczos", RESIZE_LANCZOS }, { "4", RESIZE_LANCZOS }, { "auto", RESIZE_AUTO },
	{ "9", RESIZE_AUTO }, { NULL, 0 }
};

/* Returns the code of a word; wanted says which words there are. */
static int
find_word(const char *option, const char *text, const struct word *words, const char *wanted)
{
	for (; words->name != NULL; words++)
		if (strcmp(words->name, text) == 0)
			return words->code;
	front_wrong("%s: '%.64s' is %s", option, text, wanted);
}

/* Parses suffixes separated by commas. */
static void
take_exts(struct lister_opt *l, const char *text)
{
	static const char *exts[EXTS_MOST];
	char *copy = strdup(text), *rest = copy, *one;

	if (copy == NULL)
		front_wrong("--exts: out of memory");
	for (l->n_exts = 0; (one = strsep(&rest, ",")) != NULL; l->n_exts++) {
		if (*one == 0 || l->n_exts == EXTS_MOST)
			front_wrong("--exts: '%.64s' is not a list of 1 to %d suffixes such as .jpg,.png", text,
			    EXTS_MOST);
		exts[l->n_exts] = one;
	}
	l->exts = exts;
}

static _Noreturn void
print_and_exit(const char *text)
{
	fputs(text, stdout);
	front_flush();
	exit(0);
}

static void
choose_verb(struct im2rec *o, im2rec_verb *verb)
{
	if (o->verb != NULL && o->verb != verb)
		front_wrong("--list, --verify, --extract, --cat, --to-tar, --index, --serve and --make-list "
		    "exclude each other");
	o->verb = verb;
}

static void
apply_im2rec_option(struct im2rec *o, int c)
{
	struct transcode_opt *conv = &o->pack.conv;

	switch (c) {
	case 'j': case O_THREADS: o->pack.threads = (unsigned)front_num("--threads", optarg, 1, THREADS_MOST); break;
	case 'o':		o->out = optarg; break;
	case 'q':		o->quiet = true; break;
	case 'v':		o->verbose = true; break;
	case O_BYTES:		o->in.bytes = (size_t)front_num("--max-bytes", optarg, 1, BYTES_MOST); break;
	case O_CAT:		choose_verb(o, im2rec_cat); o->which = optarg; break;
	case O_CHUNKS:		o->list.chunks = (uint32_t)front_num("--chunks", optarg, 1, LISTER_CHUNKS); break;
	case O_COLOR:
		conv->color = (enum transcode_color)find_word("--color", optarg, colors,
		    "neither color, grey nor stored");
		break;
	case O_CROP:		conv->crop = true; break;
	case O_ENCODING:
		conv->encoding = (enum transcode_encoding)find_word("--encoding", optarg, encodings,
		    "neither jpg nor png");
		break;
	case O_EXTRACT:		choose_verb(o, im2rec_extract); break;
	case O_EXTS:		take_exts(&o->list, optarg); break;
	case O_INDEX:		choose_verb(o, im2rec_index); break;
	case O_INTER:
		conv->inter = (enum resize_inter)find_word("--inter-method", optarg, inters,
		    "neither nearest, bilinear, cubic, area, lanczos nor auto");
		break;
	case O_KEY:		o->key = optarg; break;
	case O_LABELS:		o->in.labels = optarg; break;
	case O_LISTEN:		front_address("--listen", o->listen = optarg); break;
	case O_LIST:		choose_verb(o, im2rec_list); break;
	case O_MAKE:		choose_verb(o, im2rec_make_list); break;
	case O_NOSHUFFLE:	o->list.shuffle = false; break;
	case O_PACKLABEL:	o->in.label_width = 0; break;
	case O_PART:		front_part("--part", optarg, &o->in.part, &o->in.parts); break;
	case O_PASS:		conv->pass = true; break;
	case O_PIXELS:		conv->pixels = (uint32_t)front_num("--max-pixels", optarg, 1, PIXELS_MOST); break;
	case O_QUALITY:		conv->quality = (int)front_num("--quality", optarg, 1, 100); break;
	case O_RECURSIVE:	o->list.recursive = true; break;
	case O_READY:		o->ready = (int)front_num("--ready-fd", optarg, 0, 1 << 20); break;
	case O_REJECTS:		o->rejects = optarg; break;
	case O_RESIZE:		conv->resize = (uint32_t)front_num("--resize", optarg, 1, 65500); break;
	case O_RESUME:		o->resume = true; break;
	case O_ROOT:		o->in.root = optarg; break;
	case O_ROUNDING:
		conv->crop_even = find_word("--crop-rounding", optarg, roundings, "neither down nor even") != 0;
		break;
	case O_SEED:		o->list.seed = (uint64_t)front_num("--seed", optarg, 0, INT64_MAX); break;
	case O_SERVE:		choose_verb(o, im2rec_serve); break;
	case O_SPLIT:
		o->in.split = (enum source_split)find_word("--split", optarg, splits, "neither train nor test, "
		    "which also stands for folders such as val");
		break;
	case O_TAR:		choose_verb(o, im2rec_to_tar); break;
	case O_TEST:		o->list.test = front_real("--test-ratio", optarg, 0, 1); break;
	case O_TRAIN:		o->list.train = front_real("--train-ratio", optarg, 0, 1); break;
	case O_VERIFY:		choose_verb(o, im2rec_verify); break;
	case O_WIDTH:		o->in.label_width = (uint32_t)front_num("--label-width", optarg, 1, 4096); break;
	case O_HELP:		front_help();
	case O_HELP_LISTS:	print_and_exit(help_lists);
	case O_HELP_PICTURES:	print_and_exit(help_pictures);
	case O_HELP_RECORDS:	print_and_exit(help_records);
	case O_VERSION:		printf("im2rec (tally) %s\n", TALLY_VERSION); front_flush(); exit(0);
	}
}

static bool
is_list(const char *path)
{
	size_t n = strlen(path);

	return strcmp(path, "-") == 0 || (n >= 4 && strcmp(path + n - 4, ".lst") == 0);
}

void
im2rec_options(struct im2rec *o, int argc, char *argv[])
{
	int c;

	*o = (struct im2rec){ .ready = -1, .list = { .shuffle = true, .seed = 100 },
	    .in.bytes = IMG_BYTES, .pack.conv = { .inter = RESIZE_CUBIC, .pixels = IMG_PIXELS } };
	front_init(argv[0], usage, help);
	while ((c = front_getopt(argc, argv, "j:o:qv", longs)) != -1)
		apply_im2rec_option(o, c);
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
}
