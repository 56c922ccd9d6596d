/* lister_test - lists as MXNet's im2rec.py makes them, shuffled by our own chance. */
#include "base/err.h"
#include "source/lister.h"
#include "pics.h"
#include "tap.h"

static char root[256], prefix[256];
static unsigned bad;

static void
count_bad(void *ctx, int e)
{
	(void)ctx;
	bad += e == ERR_ITEM;
}

static struct lister_opt
options(bool recursive)
{
	return (struct lister_opt){ .root = root, .prefix = prefix, .recursive = recursive, .bad = count_bad };
}

static void
sh(const char *text)
{
	char cmd[1024];

	snprintf(cmd, sizeof(cmd), "cd '%s' && %s", pics_dir, text);
	if (system(cmd) != 0)
		ok(0, "%s", cmd);
}

/* A file's text. */
static const char *
text_of(const char *name)
{
	static struct buf b;

	b.n = 0;
	if (io_slurp(pics_path(name), 1u << 20, &b) < 0)
		return NULL;
	buf_terminate(&b);
	return (const char *)b.p;
}

static void
test_order(void)
{
	struct lister_opt o = options(true);
	struct names classes = { 0 };
	uint64_t n;

	sh("mkdir -p set/b/deep set/b-c set/a set/.hid && touch set/z.png set/b/1.jpg set/b/deep/2.JPEG set/b-c/3.jpg set/a/n.txt "
	   "set/a/5.jpg set/a/4.jpg set/.hid/6.jpg set/b/.7.jpg set/b/8.webp");
	is(lister_run(&o, &classes, &n), 0, "a list is made");
	is(n, 6, "of so many");
	is_str(text_of("l.lst"), "0\t0.000000\tz.png\n1\t1.000000\ta/4.jpg\n2\t1.000000\ta/5.jpg\n3\t2.000000\tb/1.jpg\n"
	    "4\t3.000000\tb/deep/2.JPEG\n5\t4.000000\tb-c/3.jpg\n", "files before folders, a class a folder");
	ok(classes.n == 5 && strcmp(classes.p[0], ".") == 0 && strcmp(classes.p[3], "b/deep") == 0, "the folders are told");
	names_free(&classes);
	o = options(false);
	lister_run(&o, NULL, &n);
	is_str(text_of("l.lst"), "0\t0.000000\tz.png\n", "not below");
	o.n_exts = 1;
	o.exts = (const char *const[]){ ".WEBP" };
	o.recursive = true;
	lister_run(&o, NULL, &n);
	is_str(text_of("l.lst"), "0\t0.000000\tb/8.webp\n", "other endings");
}

static void
test_shares(void)
{
	struct lister_opt o = options(true);
	uint64_t n;

	snprintf(root, sizeof(root), "%s", pics_path("ten"));
	sh("mkdir ten && for i in 0 1 2 3 4 5 6 7 8 9; do touch ten/$i.png; done; rm -f l*.lst");
	o.chunks = 2;
	o.train = 0.6;
	o.test = 0.2;
	is(lister_run(&o, NULL, &n), 0, "chunks and shares");
	is_str(text_of("l_0_test.lst"), "0\t0.000000\t0.png\n", "the first share is the test");
	is_str(text_of("l_0_train.lst"), "1\t0.000000\t1.png\n2\t0.000000\t2.png\n3\t0.000000\t3.png\n", "then training");
	is_str(text_of("l_1_val.lst"), "9\t0.000000\t9.png\n", "what is left is validation");
	ok(text_of("l_0.lst") == NULL && text_of("l_2_val.lst") == NULL, "and no more files");
	o.chunks = 3;
	o.train = 1;
	o.test = 0;
	lister_run(&o, NULL, &n);
	is_str(text_of("l_2.lst"), "8\t0.000000\t8.png\n9\t0.000000\t9.png\n", "the last chunk is the short one");
}

static void
test_chance(void)
{
	struct lister_opt o = options(true);
	char first[512], sorted[512] = "";
	uint64_t n;

	lister_run(&o, NULL, &n);
	snprintf(sorted, sizeof(sorted), "%s", text_of("l.lst"));
	o.shuffle = true;
	o.seed = 7;
	lister_run(&o, NULL, &n);
	snprintf(first, sizeof(first), "%s", text_of("l.lst"));
	ok(strcmp(first, sorted) != 0 && strlen(first) == strlen(sorted), "shuffled");
	for (int i = 0; i < 10; i++) {
		char line[64];

		snprintf(line, sizeof(line), "%d\t0.000000\t%d.png\n", i, i);
		ok(strstr(first, line) != NULL, "number %d stays with its picture", i);
	}
	lister_run(&o, NULL, &n);
	is_str(text_of("l.lst"), first, "the same by the same seed");
	o.seed = 8;
	lister_run(&o, NULL, &n);
	ok(strcmp(text_of("l.lst"), first) != 0, "and not by another");
}

static void
test_faults(void)
{
	struct lister_opt o = options(true);
	uint64_t n;

	sh("mkdir odd && touch \"odd/$(printf 'a\\tb').png\" 'odd/ c.png' odd/d.png && ln -s gone odd/e.png && mkdir none");
	snprintf(root, sizeof(root), "%s", pics_path("odd"));
	is(lister_run(&o, NULL, &n), 0, "names that fit no list");
	is(bad, 3, "are told, as is a link to nothing");
	is_str(text_of("l.lst"), "0\t0.000000\td.png\n", "the others are listed");
	o.train = 0.9;
	o.test = 0.2;
	is(lister_run(&o, NULL, &n), ERR_ARG, "more than all");
	o.train = o.test = 0;
	o.chunks = LISTER_CHUNKS + 1;
	is(lister_run(&o, NULL, &n), ERR_ARG, "too many chunks");
	o.chunks = 0;
	snprintf(root, sizeof(root), "%s", pics_path("none"));
	is(lister_run(&o, NULL, &n), ERR_ARG, "no pictures");
	is_str(text_of("l.lst"), "0\t0.000000\td.png\n", "the old list stays");
	snprintf(root, sizeof(root), "%s", pics_path("absent"));
	is(lister_run(&o, NULL, &n), ERR_SYS, "no directory");
	snprintf(root, sizeof(root), "%s", pics_path("ten"));
	snprintf(prefix, sizeof(prefix), "%s", pics_path("no/l"));
	is(lister_run(&o, NULL, &n), ERR_SYS, "nowhere to write");
	ok(strstr(err_line(), "no/l.lst: ") != NULL, "the line says where");
}

int
main(void)
{
	snprintf(root, sizeof(root), "%s", pics_path("set"));
	snprintf(prefix, sizeof(prefix), "%s", pics_path("l"));
	test_order();
	test_shares();
	test_chance();
	test_faults();
	pics_clean();
	return done();
}
