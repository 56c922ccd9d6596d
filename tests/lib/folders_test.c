/* folders_test - which class a picture is of, noted, given or as it comes. */
#include "told.h"

#include "source/folders.h"

static struct source_opt opt;

/* What a pipe of pictures with these names gives. */
static const char *
piped(const char *const *names)
{
	told_pack("x.tar", "ustar", NULL, names);
	opt.path = told_pipe("x.tar");
	return told(&opt);
}

#define PIPED(...) piped((const char *const[]){ __VA_ARGS__, NULL })
#define NEEDED "to number a stream's classes their names are needed, as im2rec --labels takes them"

static void
test_stream(void)
{
	opt.labels = NULL;
	is_str(PIPED("a/1.png", "b/2.png", "a/3.png", "b/s/4.png"), "0 0 pipe: a/1.png\n1 1 pipe: b/2.png\n2 0 pipe: a/3.png\n"
	    "3 1 pipe: b/s/4.png\na,b,", "names that ascend, and come again");
	is_str(PIPED("s/t/a/1.png", "s/t/b/2.png", "s/3.png"), "0 0 pipe: s/t/a/1.png\n1 1 pipe: s/t/b/2.png\n"
	    "-4 pipe: folder s stands less deep than those before: " NEEDED "a,b,", "less deep");
	is_str(PIPED("b/1.png", "a/2.png"), "0 0 pipe: b/1.png\n-4 pipe: folder a comes behind one that sorts after it: " NEEDED "b,",
	    "names that do not ascend");
	is_str(PIPED("ab/1.png", "a/2.png"), "0 0 pipe: ab/1.png\n-4 pipe: folder a comes behind one that sorts after it: " NEEDED
	    "ab,", "nor do these");
	is_str(PIPED("a/1.png", "a/s/2.png"), "0 0 pipe: a/1.png\n-4 pipe: folder a/s stands deeper than those before: " NEEDED "a,",
	    "deeper, where that may be a class");
	is_str(PIPED("s/a/1.png", "t/a/2.png"), "0 0 pipe: s/a/1.png\n-4 pipe: folder t/a does not stand beside those before: "
	    NEEDED "a,", "elsewhere");
	is_str(PIPED("s/train/a/1.png", "s/val/a/2.png"),
	    "0 0 pipe: s/train/a/1.png\n-7 pipe: has folders like train and val: say which, with --splita,", "two splits");
	is_str(PIPED("train/1.png", "val/2.png"), "0 0 pipe: train/1.png\n1 1 pipe: val/2.png\n"
	    "-7 pipe: has folders like train and val: say which, with --splittrain,val,", "which are no classes");
	is_str(PIPED("bus/1.png", "train/2.png", "3.png"), "0 0 pipe: bus/1.png\n1 1 pipe: train/2.png\n2 ! pipe: 3.png\nbus,train,",
	    "a train beside a bus is one; what stands outside");
	opt.split = SOURCE_TEST;
	is_str(PIPED("s/test/b/1.png", "s/train/a/2.png", "s/test/c/3.png"),
	    "0 0 pipe: s/test/b/1.png\n1 1 pipe: s/test/c/3.png\nb,c,", "one split of two");
	is_str(PIPED("s/train/a/2.png"), "-7 pipe: has no folder test or val", "that is not there");
	opt.split = SOURCE_ALL;
}

static void
test_given(void)
{
	char labels[256];

	snprintf(labels, sizeof(labels), "%s", pics_path("labels"));
	opt.labels = labels;
	sh("printf 'b\na\ntrain\n' >labels");
	is_str(PIPED("s/b/1.png", "a/2.png", "s/c/3.png", "train/4.png", "5.png"), "0 0 pipe: s/b/1.png\n1 1 pipe: a/2.png\n"
	    "2 ! pipe: s/c/3.png\n3 2 pipe: train/4.png\n4 ! pipe: 5.png\nb,a,train,", "given, in any order and depth");
	is_str(PIPED("train/b/1.png", "val/b/2.png"), "0 2 pipe: train/b/1.png\n1 0 pipe: val/b/2.png\nb,a,train,",
	    "the first that is one counts");
	sh("printf 'b\na\n' >labels");
	is_str(PIPED("train/b/1.png", "val/b/2.png"),
	    "0 0 pipe: train/b/1.png\n-7 pipe: has folders like train and val: say which, with --splitb,a,", "two splits");
	opt.split = SOURCE_TRAIN;
	is_str(PIPED("val/b/1.png", "train/a/2.png"), "0 1 pipe: train/a/2.png\nb,a,", "one of them");
	told_pack("y.tar", "ustar", NULL, (const char *const[]){ "p/val/b/1.png", "p/train/a/2.png", "p/train/z/3.png", NULL });
	opt.path = pics_path("y.tar");
	is_str(told(&opt), "0 1 y.tar: p/train/a/2.png\n1 ! y.tar: p/train/z/3.png\nb,a,", "of an archive that is a file");
	opt.split = SOURCE_ALL;
	opt.labels = NULL;
}

static void
test_bounds(void)
{
	struct names classes = { 0 };
	struct folders *f;
	char name[200] = "";
	size_t class;

	for (int i = 0; i < FOLDERS_DEEPEST; i++)
		strcat(name, "a/");
	folders_new(&f, &classes, SOURCE_ALL, "x");
	is(folders_add(f, strcat(name, "1.png")), 0, "as deep as may be");
	strcpy(strrchr(name, '/'), "/b/1.png");
	is(folders_add(f, name), ERR_LIMIT, "and deeper");
	is(folders_resolve(f, false), 0, "one folder is a class");
	is(folders_class(f, "a/1.png", &class), ERR_ITEM, "which this is not in");
	folders_free(f);
	names_free(&classes);
}

static void
test_standard_input(void)
{
	int keep = dup(STDIN_FILENO), fd;

	told_pack("x.tar", "ustar", NULL, (const char *const[]){ "a/1.png", "b/2.png", NULL });
	fd = open(told_pipe("x.tar"), O_RDONLY);
	dup2(fd, STDIN_FILENO);
	opt.path = "-";
	is_str(told(&opt), "0 0 standard input: a/1.png\n1 1 standard input: b/2.png\na,b,", "standard input");
	dup2(keep, STDIN_FILENO);
	close(keep);
	close(fd);
	sh("printf 'no archive' >junk");
	opt.path = told_pipe("junk");
	is_str(told(&opt), "-4 pipe: no pictures in it: no JPEG or PNG files, no CIFAR-10 binary, no MNIST files", "no archive");
}

int
main(void)
{
	pics_path("");
	test_stream();
	test_given();
	test_bounds();
	test_standard_input();
	buf_free(&told_text);
	pics_clean();
	return done();
}
