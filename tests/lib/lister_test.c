/* lister_test - lists as MXNet's im2rec.py makes them, with a shuffle of our own. */
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
	is(lister_run(&o, &classes, &n), 0, "lister_run writes a list");
	is(n, 6, "lister_run counts the images");
	is_str(text_of("l.lst"),
	    "0\t0.000000\tz.png\n1\t1.000000\ta/4.jpg\n2\t1.000000\ta/5.jpg\n3\t2.000000\tb/1.jpg\n"
	    "4\t3.000000\tb/deep/2.JPEG\n5\t4.000000\tb-c/3.jpg\n",
	    "files come before folders, and each folder is a class");
	ok(classes.n == 5 && strcmp(classes.p[0], ".") == 0 && strcmp(classes.p[3], "b/deep") == 0,
	    "lister_run returns the folders");
	names_free(&classes);
	o = options(false);
	lister_run(&o, NULL, &n);
	is_str(text_of("l.lst"), "0\t0.000000\tz.png\n",
	    "without recursive only root's images are listed");
	o.n_exts = 1;
	o.exts = (const char *const[]){ ".WEBP" };
	o.recursive = true;
	lister_run(&o, NULL, &n);
	is_str(text_of("l.lst"), "0\t0.000000\tb/8.webp\n",
	    "other suffixes are listed if asked for");
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
	is(lister_run(&o, NULL, &n), 0, "lister_run divides chunks into fractions");
	is_str(text_of("l_0_test.lst"), "0\t0.000000\t0.png\n", "the first fraction is the test");
	is_str(text_of("l_0_train.lst"), "1\t0.000000\t1.png\n2\t0.000000\t2.png\n3\t0.000000\t3.png\n",
	    "the next fraction is for training");
	is_str(text_of("l_1_val.lst"), "9\t0.000000\t9.png\n", "the rest is for validation");
	ok(text_of("l_0.lst") == NULL && text_of("l_2_val.lst") == NULL,
	    "no other files are written");
	o.chunks = 3;
	o.train = 1;
	o.test = 0;
	lister_run(&o, NULL, &n);
	is_str(text_of("l_2.lst"), "8\t0.000000\t8.png\n9\t0.000000\t9.png\n",
	    "the last chunk is shorter");
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
	ok(strcmp(first, sorted) != 0 && strlen(first) == strlen(sorted), "lister_run shuffles");
	for (int i = 0; i < 10; i++) {
		char line[64];

		snprintf(line, sizeof(line), "%d\t0.000000\t%d.png\n", i, i);
		ok(strstr(first, line) != NULL, "number %d stays with its image", i);
	}
	lister_run(&o, NULL, &n);
	is_str(text_of("l.lst"), first, "the same seed gives the same order");
	o.seed = 8;
	lister_run(&o, NULL, &n);
	ok(strcmp(text_of("l.lst"), first) != 0, "another seed gives another order");
}

static void
test_faults(void)
{
	struct lister_opt o = options(true);
	uint64_t n;

	sh("mkdir odd && touch \"odd/$(printf 'a\\tb').png\" 'odd/ c.png' odd/d.png && ln -s gone odd/e.png && mkdir none");
	snprintf(root, sizeof(root), "%s", pics_path("odd"));
	is(lister_run(&o, NULL, &n), 0, "names that fit no list are left out");
	is(bad, 3, "such names and dangling links are reported");
	is_str(text_of("l.lst"), "0\t0.000000\td.png\n", "the other images are listed");
	o.train = 0.9;
	o.test = 0.2;
	is(lister_run(&o, NULL, &n), ERR_ARG, "lister_run refuses fractions above 1");
	o.train = o.test = 0;
	o.chunks = LISTER_CHUNKS + 1;
	is(lister_run(&o, NULL, &n), ERR_ARG, "lister_run refuses too many chunks");
	o.chunks = 0;
	snprintf(root, sizeof(root), "%s", pics_path("none"));
	is(lister_run(&o, NULL, &n), ERR_ARG, "lister_run refuses a folder without images");
	is_str(text_of("l.lst"), "0\t0.000000\td.png\n", "a failed run keeps the old list");
	snprintf(root, sizeof(root), "%s", pics_path("absent"));
	is(lister_run(&o, NULL, &n), ERR_SYS, "lister_run fails on a missing folder");
	snprintf(root, sizeof(root), "%s", pics_path("ten"));
	snprintf(prefix, sizeof(prefix), "%s", pics_path("no/l"));
	is(lister_run(&o, NULL, &n), ERR_SYS, "lister_run fails where it cannot write");
	ok(strstr(err_line(), "no/l.lst: ") != NULL, "the error names the file");
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
