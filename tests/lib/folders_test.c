/* folders_test - the class of an image, by collected, given and streamed names. */
#include "told.h"

#include "source/folders.h"

#define CHOOSE "name one of them, or give im2rec --split train or --split test"

static struct source_opt opt;

/* Returns the items of a pipe of images with these names. */
static const char *
piped(const char *const *names)
{
	told_pack("x.tar", "ustar", NULL, names);
	opt.path = told_pipe("x.tar");
	return told(&opt);
}

#define PIPED(...) piped((const char *const[]){ __VA_ARGS__, NULL })
#define NEEDED "give the names of a stream's classes, in im2rec with --labels"

static void
test_stream(void)
{
	opt.labels = NULL;
	is_str(PIPED("a/1.png", "b/2.png", "a/3.png", "b/s/4.png"),
	    "0 0 pipe: a/1.png\n1 1 pipe: b/2.png\n2 0 pipe: a/3.png\n"
	    "3 1 pipe: b/s/4.png\na,b,",
	    "a stream may repeat classes that appeared in ascending order");
	is_str(PIPED("s/t/a/1.png", "s/t/b/2.png", "s/3.png"), "0 0 pipe: s/t/a/1.png\n1 1 pipe: s/t/b/2.png\n"
	    "-4 pipe: folder s is less deep than earlier ones; " NEEDED "a,b,",
	    "a stream ends at an image that is less deep");
	is_str(PIPED("b/1.png", "a/2.png"),
	    "0 0 pipe: b/1.png\n-4 pipe: folder a comes after one that sorts after it; " NEEDED "b,",
	    "a stream ends at classes that do not ascend");
	is_str(PIPED("ab/1.png", "a/2.png"),
	    "0 0 pipe: ab/1.png\n-4 pipe: folder a comes after one that sorts after it; " NEEDED
	    "ab,", "a stream ends at a class that is a prefix of an earlier one");
	is_str(PIPED("a/1.png", "a/s/2.png"),
	    "0 0 pipe: a/1.png\n-4 pipe: folder a/s is deeper than earlier ones; " NEEDED "a,",
	    "a stream ends at a deeper folder that may be a class");
	is_str(PIPED("a/1.png", "b\nc/2.png"), "0 0 pipe: a/1.png\n-4 pipe: folder b\nc: a class with a control character in "
	    "its name; rename the foldera,", "a stream ends at a class whose name is no line");
	is_str(PIPED("s/a/1.png", "t/a/2.png"), "0 0 pipe: s/a/1.png\n-4 pipe: folder t/a is not next to earlier ones; "
	    NEEDED "a,", "a stream ends at a class in another folder");
	is_str(PIPED("s/train/a/1.png", "s/val/a/2.png"),
	    "0 0 pipe: s/train/a/1.png\n-7 pipe: has folders such as train and val; " CHOOSE "a,",
	    "a stream with two splits needs a choice");
	is_str(PIPED("train/1.png", "val/2.png"), "0 0 pipe: train/1.png\n1 1 pipe: val/2.png\n"
	    "-7 pipe: has folders such as train and val; " CHOOSE "train,val,",
	    "train and val are not classes of a stream");
	is_str(PIPED("bus/1.png", "train/2.png", "3.png"),
	    "0 0 pipe: bus/1.png\n1 1 pipe: train/2.png\n2 ! pipe: 3.png\nbus,train,",
	    "train next to another class is a class; an image outside has none");
	opt.split = SOURCE_TEST;
	is_str(PIPED("s/test/b/1.png", "s/train/a/2.png", "s/test/c/3.png"),
	    "0 0 pipe: s/test/b/1.png\n1 1 pipe: s/test/c/3.png\nb,c,",
	    "a split of a stream has only its images");
	is_str(PIPED("s/train/a/2.png"), "-7 pipe: no folder test or val for --split",
	    "a stream without the split fails");
	opt.split = SOURCE_ALL;
}

static void
test_given(void)
{
	char labels[256];

	snprintf(labels, sizeof(labels), "%s", pics_path("labels"));
	opt.labels = labels;
	sh("printf 'b\na\ntrain\n' >labels");
	is_str(PIPED("s/b/1.png", "a/2.png", "s/c/3.png", "train/4.png", "5.png"),
	    "0 0 pipe: s/b/1.png\n1 1 pipe: a/2.png\n"
	    "2 ! pipe: s/c/3.png\n3 2 pipe: train/4.png\n4 ! pipe: 5.png\nb,a,train,",
	    "given classes are found in any order and depth");
	is_str(PIPED("train/b/1.png", "val/b/2.png"), "0 2 pipe: train/b/1.png\n1 0 pipe: val/b/2.png\nb,a,train,",
	    "the first component that is a given class counts");
	sh("printf 'b\na\n' >labels");
	is_str(PIPED("train/b/1.png", "val/b/2.png"),
	    "0 0 pipe: train/b/1.png\n-7 pipe: has folders such as train and val; " CHOOSE "b,a,",
	    "given classes with two splits need a choice");
	opt.split = SOURCE_TRAIN;
	is_str(PIPED("val/b/1.png", "train/a/2.png"), "0 1 pipe: train/a/2.png\nb,a,",
	    "a split with given classes has only its images");
	told_pack("y.tar", "ustar", NULL, (const char *const[]){ "p/val/b/1.png", "p/train/a/2.png",
	    "p/train/z/3.png", NULL });
	opt.path = pics_path("y.tar");
	is_str(told(&opt), "0 1 y.tar: p/train/a/2.png\n1 ! y.tar: p/train/z/3.png\nb,a,",
	    "an archive in a file may have a split with given classes");
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
	folders_new(&classes, SOURCE_ALL, "x", &f);
	is(folders_add(f, strcat(name, "1.png")), 0, "folders_add accepts the deepest path");
	strcpy(strrchr(name, '/'), "/b/1.png");
	is(folders_add(f, name), ERR_LIMIT, "folders_add refuses a deeper path");
	is(folders_resolve(f, false), 0, "folders_resolve accepts a single folder");
	is(folders_class(f, "a/1.png", &class), ERR_ITEM,
	    "folders_class refuses an image outside of all classes");
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
	is_str(told(&opt), "0 0 standard input: a/1.png\n1 1 standard input: b/2.png\na,b,",
	    "standard input is a stream of classes");
	dup2(keep, STDIN_FILENO);
	close(keep);
	close(fd);
	sh("printf 'no archive' >junk");
	opt.path = told_pipe("junk");
	is_str(told(&opt), "-4 pipe: no images: is no archive, or its start is damaged; tar, zip, 7z, rar, cpio, "
	    "ISO 9660 and some others are read, compressed or not",
	    "a pipe that is not an archive has no images");
	sh("printf '\\377\\330\\377' >one");
	opt.path = told_pipe("one");
	is_str(told(&opt), "-4 pipe: no images: is one image (jpg) without a label; pack an archive of class folders, or a "
	    "directory of them",
	    "a pipe that is an image is no archive");
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
