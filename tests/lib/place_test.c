/* place_test - directories, nested archives, links, and the effects of damage. */
#include "told.h"

#include "source/files.h"

static struct source_opt opt;

/* Makes a tar of tars, one for each class, like ILSVRC's training set. */
static void
test_nested(void)
{
	char labels[256];
	const char *two[2];

	told_pack("n02.tar", "ustar", NULL, (const char *const[]){ "n02_1.JPEG", "n02_2.JPEG", NULL });
	told_pack("n01.tar.gz", "ustar", "gzip", (const char *const[]){ "sub/n01_1.JPEG", NULL });
	told_pack("train.tar", "ustar", NULL, (const char *const[]){ "n02.tar", "readme", "n01.tar.gz", NULL });
	is_str(told_of(&opt, "train.tar"), "0 1 train.tar: n02.tar: n02_1.JPEG = n02_1.JPEG\n"
	    "1 1 train.tar: n02.tar: n02_2.JPEG = n02_2.JPEG\n"
	    "2 0 train.tar: n01.tar.gz: sub/n01_1.JPEG = n01_1.JPEG\nn01,n02,",
	    "each tar within a tar is a class");
	sh("printf 'n02\nn01\n' >labels && mkdir tars && cp n02.tar n01.tar.gz tars");
	snprintf(labels, sizeof(labels), "%s", pics_path("labels"));
	opt.labels = labels;
	ok(strstr(told_of(&opt, "train.tar"),
	    "2 1 train.tar: n01.tar.gz: sub/n01_1.JPEG = n01_1.JPEG\nn02,n01,") != NULL,
	    "given classes number the tars");
	opt.labels = NULL;
	is_str(told_of(&opt, "tars"),
	    "0 0 tars/n01.tar.gz: sub/n01_1.JPEG = n01_1.JPEG\n1 1 tars/n02.tar: n02_1.JPEG = n02_1.JPEG\n"
	    "2 1 tars/n02.tar: n02_2.JPEG = n02_2.JPEG\nn01,n02,",
	    "each tar in a directory is a class");
	two[0] = pics_path("n02.tar");
	two[1] = pics_path("n01.tar.gz");
	opt.paths = two;
	opt.n_paths = 2;
	is_str(told(&opt), "0 1 n02.tar: n02_1.JPEG = n02_1.JPEG\n1 1 n02.tar: n02_2.JPEG = n02_2.JPEG\n"
	    "2 0 n01.tar.gz: sub/n01_1.JPEG = n01_1.JPEG\nn01,n02,",
	    "several tars as paths are read in that order");
	opt.n_paths = 0;
	sh("mkdir tars/n03 && touch tars/n03/1.png");
	is_str(told_of(&opt, "tars"), "0 0 tars/n03/1.png later\nn03,",
	    "archives next to images are not entered");
}

static void
test_depth(void)
{
	sh("for i in 1 2 3 4 5; do mkdir -p d$i; done");
	told_pack("d1/a.tar", "ustar", NULL, (const char *const[]){ "1.png", NULL });
	for (int i = 2; i <= 5; i++) {
		char from[32], to[32];

		snprintf(from, sizeof(from), "d%d/a.tar", i - 1);
		snprintf(to, sizeof(to), "d%d/a.tar", i);
		told_pack(to, "ustar", NULL, (const char *const[]){ from, "b/2.png", NULL });
	}
	ok(strstr(told_of(&opt, "d4/a.tar"), ": d3/a.tar: d2/a.tar: d1/a.tar: 1.png = 1.png\n") != NULL,
	    "four nested archives are read");
	ok(strstr(told_of(&opt, "d5/a.tar"), "0 !  ! d5/a.tar: d4/a.tar: d3/a.tar: d2/a.tar: d1/a.tar: "
	    "archives are nested more than 4 deep\n1 ") != NULL,
	    "a fifth nested archive is a bad item and the rest is read");
}

static void
test_damage(void)
{
	const char *text;

	sh("head -c 1300 n02.tar >cut.tar && printf 'no tar' >no.tar && gzip -c n02.tar | head -c 100 >half.tgz");
	told_pack("some.tar", "ustar", NULL, (const char *const[]){ "c/0.png", "cut.tar", "no.tar", "d/9.png", NULL });
	text = told_of(&opt, "some.tar");
	ok(strstr(text, "0 1 some.tar: c/0.png = 0.png\n1 2 some.tar: cut.tar: n02_1.JPEG = n02_1.JPEG\n") == text ||
	    strstr(text, "some.tar: cut.tar: n02_1.JPEG = n02_1.JPEG\n") != NULL,
	    "members before the damage are read");
	ok(strstr(text, " !  ! some.tar: cut.tar: after n02_1.JPEG: ") != NULL,
	    "a truncated inner archive is reported");
	ok(strstr(text, " !  ! some.tar: no.tar: ") != NULL,
	    "an inner file that is not an archive is reported");
	ok(strstr(text, " some.tar: d/9.png = 9.png\n") != NULL,
	    "members after damaged archives are read");
	sh("mkdir few && cp half.tgz n02.tar few");
	text = told_of(&opt, "few");
	ok(strstr(text, " !  ! few/half.tgz: ") != NULL && strstr(text, " few/n02.tar: n02_2.JPEG = ") != NULL,
	    "a damaged archive in a directory is reported and the rest is read");
	sh("head -c 3500 some.tar >some-cut.tar");
	text = told_of(&opt, "some-cut.tar");
	ok(strncmp(text, "-4 some-cut.tar", 15) == 0, "damage of the outer archive ends the walk");
	opt.path = told_pipe("some-cut.tar");
	text = told(&opt);
	ok(strstr(text, "\n-4 pipe: ") != NULL, "damage of a pipe found late ends the walk");
}

/* Changes a byte of the second member's data. */
static void
test_bad_member(void)
{
	static const uint8_t head[] = { 'P', 'K', 3, 4 };
	struct buf b = { 0 };
	const char *text;
	uint8_t *p;

	told_pack("z.zip", "zip", NULL, (const char *const[]){ "a/one.png", "a/two.png", "b/three.png", NULL });
	io_slurp(pics_path("z.zip"), 1u << 20, &b);
	p = memmem(b.p + 4, b.n - 4, head, sizeof(head));
	p[30 + le_get16(p + 26) + le_get16(p + 28) + 1] ^= 0x10;
	pics_write(pics_path("bad.zip"), b.p, b.n);
	text = told_of(&opt, "bad.zip");
	ok(strstr(text, "1 ! bad.zip: a/two.png ! ") != NULL,
	    "a damaged member of a zip is reported");
	ok(strstr(text, "0 0 bad.zip: a/one.png = one.png\n") != NULL &&
	    strstr(text, "2 1 bad.zip: b/three.png = three.png\n") != NULL,
	    "the other members are read");
	buf_free(&b);
}

static void
test_links(void)
{
	sh("mkdir -p l/a && printf x >l/a/1.png && ln -s 1.png l/a/2.png && ln l/a/1.png l/a/3.png && ln -s a l/b && "
	   "tar cf l.tar --sort=name l");
	is_str(told_of(&opt, "l.tar"), "0 0 l.tar: l/a/1.png = x\n"
	    "1 ! l.tar: l/a/2.png ! a link to 1.png: links in an archive are not followed\n"
	    "2 ! l.tar: l/a/3.png ! a link to l/a/1.png: links in an archive are not followed\na,",
	    "links in an archive are reported");
	is_str(told_of(&opt, "l"), "0 0 l/a/1.png later\n1 0 l/a/2.png later\n2 0 l/a/3.png later\n"
	    "3 1 l/b/1.png later\n4 1 l/b/2.png later\n5 1 l/b/3.png later\na,b,",
	    "links in a directory are followed");
}

static void
test_walk(void)
{
	sh("mkdir -p w/k && touch w/k/1.png && mkfifo w/k/2.png && ln -s gone w/k/3.png && cd w && "
	   "mkdir ../k0 && for i in 1 2 3 4 5 6 7 8 9; do mkdir ../k$i && touch ../k$i/p.png && "
	   "ln -s \"$PWD/../k$i\" ../k$((i - 1))/n; done; ln -s ../k1 l");
	ok(strstr(told_of(&opt, "w"), "1 !  ! w/k/3.png: No such file or directory\n") != NULL,
	    "a dangling link is reported");
	ok(strstr(told_of(&opt, "w"), "2.png") == NULL, "a named pipe is skipped");
	ok(strstr(told_of(&opt, "w"), "w/l/n/n/n/n/n/n/n/p.png later\n") != NULL &&
	    strstr(told_of(&opt, "w"), " !  ! w/l/n/n/n/n/n/n/n/n: more than 8 links on its path\n") != NULL,
	    "the number of links on a path is bounded");
	sh("mkdir deep && cd deep && i=0; while [ $i -lt 70 ]; do mkdir f && touch f/1.png && cd f; i=$((i + 1)); done");
	ok(strstr(told_of(&opt, "deep"), ": folders are nested more than 64 deep\n") != NULL,
	    "the depth of directories is bounded");
	sh("mkdir -p shut/a shut/b && touch shut/a/1.png shut/b/2.png && chmod 0 shut/b");
	if (geteuid() == 0)
		skip("an unreadable directory is reported", "root can read it");
	else
		ok(strstr(told_of(&opt, "shut"), "1 !  ! shut/b: Permission denied\n") != NULL,
		    "an unreadable directory is reported");
	sh("chmod 700 shut/b");
}

int
main(void)
{
	pics_path("");
	told_bytes = true;
	test_nested();
	test_depth();
	test_damage();
	test_bad_member();
	test_links();
	test_walk();
	buf_free(&told_text);
	pics_clean();
	return done();
}
