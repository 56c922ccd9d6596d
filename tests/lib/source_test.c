/* source_test - directories, archives, lists, CIFAR and MNIST files, and damaged ones. */
#include "told.h"

#include <sys/stat.h>

#define NO_END "the tar archive has no end, so that files may be missing"
#define TRAIN "after train-labels-idx1-ubyte: "
#define LEFT "after p/train/a/2.png: "

#define CHOOSE "name one of them, or give im2rec --split train or --split test"

static const char *
all_of(const char *path, const char *root, enum source_split split)
{
	char where[256], from[256];
	struct source_opt opt = { .path = where, .root = root != NULL ? from : NULL, .split = split };

	snprintf(where, sizeof(where), "%s/%s", pics_dir, path);
	snprintf(from, sizeof(from), "%s/%s", pics_dir, root != NULL ? root : "");
	return told(&opt);
}

static void
test_folders(void)
{
	sh("mkdir -p set/b/deep/er set/a set/.git set/c && touch set/b/2.png set/b/deep/er/1.JPEG set/a/x.jpg "
	   "set/a/notes.txt set/a/.x.jpg set/.git/y.jpg set/top.png set/c/readme");
	is_str(all_of("set", NULL, SOURCE_ALL),
	    "0 0 set/a/x.jpg\n1 1 set/b/2.png\n2 1 set/b/deep/er/1.JPEG\n3 ! set/top.png\na,b,",
	    "a directory gives its class folders");
	sh("tar cf set.tar set/top.png set/b/deep set/a && tar czf ab.tgz --sort=name -C set b a/x.jpg");
	is_str(all_of("set.tar", NULL, SOURCE_ALL),
	    "0 ! set.tar: set/top.png\n1 1 set.tar: set/b/deep/er/1.JPEG\n2 0 set.tar: set/a/x.jpg\na,b,",
	    "a tar with an outer folder gives its class folders");
	is_str(all_of("ab.tgz", NULL, SOURCE_ALL),
	    "0 1 ab.tgz: b/2.png\n1 1 ab.tgz: b/deep/er/1.JPEG\n2 0 ab.tgz: a/x.jpg\na,b,",
	    "a tar without an outer folder gives its class folders");
	sh("mkdir loop && mkdir loop/a && touch loop/a/1.png && ln -s ../a loop/a/again && ln -s a loop/b");
	is_str(all_of("loop", NULL, SOURCE_ALL), "0 0 loop/a/1.png\n1 ! \n2 1 loop/b/1.png\n3 ! \na,b,",
	    "links are followed, but not in a circle");
	sh("mkdir flat empty && touch flat/1.png flat/2.png");
	is_str(all_of("flat", NULL, SOURCE_ALL), "-4 flat: its images are in no class folders, and have no labels beside them "
	    "(KEY.cls, or KEY.json with 3 or {\"labels\": [3]}); put each class into a folder of its own, "
	    "or list images and labels in a .lst",
	    "images without class folders fail");
	is_str(all_of("empty", NULL, SOURCE_ALL),
	    "-4 empty: no images: no image files, no CIFAR-10, CIFAR-100 or MNIST files, and no archive "
	    "that holds them",
	    "a directory without images fails");
	sh("mkdir -p odd/a \"odd/b\nc\" && touch odd/a/1.png \"odd/b\nc/1.png\" && tar cf odd.tar odd");
	is_str(all_of("odd", NULL, SOURCE_ALL), "-4 odd: folder b\nc: a class with a control character in its name; rename the folder",
	    "a class whose name is no line fails");
	is_str(all_of("odd.tar", NULL, SOURCE_ALL), "-4 odd.tar: folder b\nc: a class with a control character in its name; "
	    "rename the folder", "such a class of an archive fails");
	is_str(all_of("absent", NULL, SOURCE_ALL), "-1 absent: open: No such file or directory",
	    "a missing path fails");
}

static void
test_given(void)
{
	char labels[256], where[256];
	struct source_opt opt = { .path = where, .labels = labels };

	snprintf(where, sizeof(where), "%s/set", pics_dir);
	snprintf(labels, sizeof(labels), "%s/labels", pics_dir);
	sh("printf 'c\\nb\\r\\n\\nno blank\\n' >labels");
	told_bytes = true;
	is_str(told(&opt), "0 ! set/a/x.jpg ! its folder a is none of the classes c, b, no blank\n1 1 set/b/2.png later\n"
	    "2 1 set/b/deep/er/1.JPEG later\n3 ! set/top.png ! "
	    "is in no folder of a class; name the folder that holds those of the classes\nc,b,no blank,",
	    "given classes have the numbers of their file");
	told_bytes = false;
	sh("printf 'a\\nb\\na\\n' >labels");
	is_str(told(&opt), "-4 labels: a: listed twice", "a class file with a name twice fails");
	sh("printf 'er\\nx\\n' >labels");
	ok(strstr(told(&opt), "2 0 set/b/deep/er/1.JPEG\n") != NULL,
	    "the component that is a given class counts");
	sh("rm labels");
	is_str(told(&opt), "-1 labels: open: No such file or directory",
	    "a missing class file fails");
	opt.labels = NULL;
	opt.part = 1;
	opt.parts = 3;
	is_str(told(&opt), "1 1 set/b/2.png\na,b,", "part 1 of 3 has its items");
	opt.part = 0;
	is_str(told(&opt), "0 0 set/a/x.jpg\n3 ! set/top.png\na,b,", "part 0 of 3 has its items");
	opt.part = 3;
	is_str(told(&opt), "-7 part 3 of 3", "part 3 of 3 is refused");
	opt.part = opt.parts = 0;
	opt.label_width = 2;
	told_bytes = true;
	ok(strstr(told(&opt), "1 ! set/b/2.png ! has 1 labels, not 2\n") != NULL,
	    "an item with fewer labels than label_width is bad");
	told_bytes = false;
}

static void
test_splits(void)
{
	sh("mkdir -p p/train/b p/train/a p/val/b p/val/c && touch p/train/b/1.png p/train/a/2.png p/val/b/3.png p/val/c/4.png "
	   "&& mkdir q && cp -r p q/ && tar cf p.tar p && tar cf t.tar p/train");
	is_str(all_of("p", NULL, SOURCE_TRAIN), "0 0 p/train/a/2.png\n1 1 p/train/b/1.png\na,b,c,",
	    "the train split of a directory has its images");
	is_str(all_of("p", NULL, SOURCE_TEST), "0 1 p/val/b/3.png\n1 2 p/val/c/4.png\na,b,c,",
	    "the test split uses val, with the same class numbers");
	is_str(all_of("p", NULL, SOURCE_ALL), "-7 p: has folders such as train and val; " CHOOSE,
	    "train and val are not classes");
	is_str(all_of("q", NULL, SOURCE_ALL), "-7 q: has folders such as train and val; " CHOOSE,
	    "train and val are not classes in the only folder of a directory, nor is that folder a class");
	is_str(all_of("q", NULL, SOURCE_TEST), "0 1 q/p/val/b/3.png\n1 2 q/p/val/c/4.png\na,b,c,",
	    "a split is found in the only folder of a directory");
	ok(strstr(all_of("p.tar", NULL, SOURCE_TRAIN), "1 p.tar: p/train/b/1.png\n") != NULL,
	    "the train split of an archive has its images");
	ok(strstr(all_of("t.tar", NULL, SOURCE_TRAIN), "1 t.tar: p/train/b/1.png\n") != NULL,
	    "an archive with train alone has a train split");
	is_str(all_of("t.tar", NULL, SOURCE_TEST), "-7 t.tar: no folder test or val for --split",
	    "an archive with train alone has no test split");
	is_str(all_of("set", NULL, SOURCE_TRAIN), "-7 set: no folder train for --split",
	    "a source without splits refuses one");
}

static void
test_list(void)
{
	struct source_opt opt = { .label_width = 3 };
	char *path, *root;

	sh("printf '5\\t1\\tb/2.png\\nnonsense\\n9\\t0\\t2\\tabsent.jpg\\n3\\t7\\ta/x.jpg\\n' >x.lst && cp x.lst list");
	is_str(all_of("x.lst", "set", SOURCE_ALL),
	    "5 1 set/b/2.png\n0 ! x.lst:2\n9 0 2 set/absent.jpg\n3 7 set/a/x.jpg\n",
	    "a list's files are read later");
	sh("printf '5 1 2  3 b/2.png\\n6 1 a b/c.png\\n7  1 2 3 \\n' >b.lst");
	opt.path = path = strdup(pics_path("b.lst"));
	opt.root = root = strdup(pics_path("set"));
	is_str(told(&opt), "5 1 2 3 set/b/2.png\n0 ! b.lst:2\n0 ! b.lst:3\n",
	    "labels may be separated by blanks");
	free(path);
	free(root);
	is_str(all_of("x.lst", "no", SOURCE_ALL), "-4 x.lst: b/2.png is not in no; after the list, name the folder in which "
	    "its paths start", "a list none of whose files exists is refused");
	ok(strncmp(all_of("list", "set", SOURCE_ALL), "5 1 set/b/2.png\n", 16) == 0,
	    "a list with a root may have any name");
	is_str(all_of("x.lst", "set", SOURCE_TRAIN), "-7 x.lst: a list has no splits",
	    "a list refuses a split");
	is_str(all_of("no.lst", NULL, SOURCE_ALL), "-1 no.lst: open: No such file or directory",
	    "a missing list fails");
}

/* Makes files of n records, in which pixel i of plane c of record r is r + c * 100 + i. */
static void
write_cifar(const char *name, uint8_t n)
{
	uint8_t r[3073];
	int fd = pics_create(pics_path(name));

	for (uint8_t i = 0; i < n; i++) {
		r[0] = i == 5 ? 10 : i % 10;
		for (int c = 0; c < 3; c++)
			for (int k = 0; k < 1024; k++)
				r[1 + c * 1024 + k] = (uint8_t)(i + c * 100 + k);
		io_write(fd, r, sizeof(r));
	}
	close(fd);
}

static void
test_cifar(void)
{
	char path[256];
	struct source_opt opt = { .path = path };
	struct source_item it;
	struct source *s;
	int same = 1;

	sh("mkdir -p c");
	write_cifar("c/data_batch_1.bin", 2);
	write_cifar("c/data_batch_2.bin", 7);
	write_cifar("c/test_batch.bin", 1);
	is_str(all_of("c", NULL, SOURCE_TRAIN),
	    "0 0 data_batch_1.bin, image 0\n1 1 data_batch_1.bin, image 1\n2 0 data_batch_2.bin, image 0\n"
	    "3 1 data_batch_2.bin, image 1\n4 2 data_batch_2.bin, image 2\n5 3 data_batch_2.bin, image 3\n"
	    "6 4 data_batch_2.bin, image 4\n7 ! data_batch_2.bin, image 5\n8 6 data_batch_2.bin, image 6\n"
	    "0,1,2,3,4,5,6,7,8,9,", "CIFAR-10's train files are read, and an invalid label is bad");
	sh("printf 'zero\\none\\n2\\n3\\n4\\n5\\n6\\n7\\n8\\nnine\\n\\n' >c/batches.meta.txt && "
	   "tar czf c.tgz --sort=name c && gzip -k c/test_batch.bin");
	is_str(all_of("c.tgz", NULL, SOURCE_TEST), "0 0 c/test_batch.bin, image 0\nzero,one,2,3,4,5,6,7,8,nine,",
	    "the test file in an archive is read with class names");
	opt = (struct source_opt){ .path = told_pipe("c.tgz"), .split = SOURCE_TEST };
	is_str(told(&opt), "0 0 c/test_batch.bin, image 0\nzero,one,2,3,4,5,6,7,8,nine,",
	    "a pipe gives the same");
	opt = (struct source_opt){ .path = path };
	ok(strncmp(all_of("c/test_batch.bin", NULL, SOURCE_ALL), "0 0 test_batch.bin, image 0\n0,1,", 32) == 0,
	    "a single CIFAR file is read");
	ok(strncmp(all_of("c/test_batch.bin.gz", NULL, SOURCE_ALL), "0 0 test_batch.bin, image 0\n0,1,", 32) == 0,
	    "a compressed CIFAR file is read");
	snprintf(path, sizeof(path), "%s/c/data_batch_1.bin", pics_dir);
	source_open(&opt, &s);
	source_next(s, &it);
	source_next(s, &it);
	is(it.n, 3072, "a CIFAR item has pixels");
	ok(it.c == 3 && it.h == 32 && it.w == 32, "the pixels of a CIFAR item have shape 32x32x3");
	for (int k = 0; k < 1024; k++)
		for (int c = 0; c < 3; c++)
			same &= it.data[k * 3 + c] == (uint8_t)(1 + c * 100 + k);
	ok(same, "planes become interleaved pixels");
	source_close(s);
	sh("head -c 5000 c/data_batch_1.bin >data_batch_3.bin");
	ok(strstr(all_of("data_batch_3.bin", NULL, SOURCE_ALL),
	    "\n-3 data_batch_3.bin: data_batch_3.bin: ends inside image 1, at byte 5000") != NULL,
	    "a truncated CIFAR file fails");
	sh("head -c 300 c.tgz >cut.tgz");
	ok(strstr(all_of("cut.tgz", NULL, SOURCE_ALL), "-4 cut.tgz: ") != NULL,
	    "a truncated archive fails");
}

static void
test_cifar100(void)
{
	char path[256];
	struct source_opt opt = { .path = path, .label_width = 2 };
	uint8_t r[2][3074] = { { 3, 99, 7 }, { 20, 1 } };

	sh("mkdir h");
	pics_write(pics_path("h/train.bin"), r, sizeof(r));
	r[0][0] = 19;
	pics_write(pics_path("h/test.bin"), r, sizeof(r[0]));
	ok(strncmp(all_of("h", NULL, SOURCE_TRAIN), "0 99 train.bin, image 0\n1 ! train.bin, image 1\n0,1,2,",
	    50) == 0,
	    "CIFAR-100 gives fine labels, and an invalid coarse one is bad");
	snprintf(path, sizeof(path), "%s/h", pics_dir);
	opt.split = SOURCE_TEST;
	sh("i=0; while [ $i -lt 100 ]; do echo f$i; i=$((i + 1)); done >h/fine_label_names.txt");
	ok(strncmp(told(&opt), "0 99 19 test.bin, image 0\nf0,f1,", 32) == 0,
	    "CIFAR-100 gives both labels and the fine class names");
	sh("printf 'one\\ntwo\\n' >names");
	snprintf(path, sizeof(path), "%s/h/test.bin", pics_dir);
	opt.labels = pics_path("names");
	opt.label_width = 0;
	opt.split = SOURCE_ALL;
	is_str(told(&opt), "0 ! test.bin, image 0\none,two,",
	    "a label beyond the given classes is bad");
	sh("cp c/data_batch_1.bin h");
	ok(strstr(all_of("h", NULL, SOURCE_ALL), "-4 h: test.bin: CIFAR-10 and CIFAR-100 side by side") != NULL,
	    "CIFAR-10 and CIFAR-100 in one place are refused");
}

static void
test_mnist(void)
{
	/* Two images of 2x3 for training, one for testing. */
	static const uint8_t images[] = "\0\0\x08\x03\0\0\0\2\0\0\0\2\0\0\0\3" "abcdefghijkl";
	static const uint8_t labels[] = "\0\0\x08\x01\0\0\0\2" "\4\1";
	static const uint8_t one[] = "\0\0\x08\x03\0\0\0\1\0\0\0\2\0\0\0\3" "mnopqr";
	static const uint8_t label[] = "\0\0\x08\x01\0\0\0\1" "\2";
	char path[256];
	const char *two[2];
	struct source_opt opt = { .path = path, .split = SOURCE_TRAIN };
	struct source_item it;
	struct source *s;

	sh("mkdir m half");
	pics_write(pics_path("m/train-images-idx3-ubyte"), images, sizeof(images) - 1);
	pics_write(pics_path("m/train-labels-idx1-ubyte"), labels, sizeof(labels) - 1);
	pics_write(pics_path("m/t10k-images-idx3-ubyte"), one, sizeof(one) - 1);
	pics_write(pics_path("m/t10k-labels-idx1-ubyte"), label, sizeof(label) - 1);
	is_str(all_of("m", NULL, SOURCE_ALL),
	    "0 4 train-images-idx3-ubyte, image 0\n1 1 train-images-idx3-ubyte, image 1\n"
	    "2 2 t10k-images-idx3-ubyte, image 0\n0,1,2,3,4,", "MNIST files are read");
	sh("tar czf m.tgz m && tar cf w.tar -C m train-images-idx3-ubyte train-labels-idx1-ubyte t10k-images-idx3-ubyte "
	   "t10k-labels-idx1-ubyte && for n in 1 2 3; do head -c $((n * 1024)) w.tar >w$n.tar; done && mkdir n && cp w2.tar n/ "
	   "&& tar cf n.tar -C n w2.tar && { cat w.tar && echo junk; } >j.tar && gzip m/*");
	is_str(all_of("m", NULL, SOURCE_TEST), "0 2 t10k-images-idx3-ubyte, image 0\n0,1,2,",
	    "gzipped MNIST files are read");
	is_str(all_of("m.tgz", NULL, SOURCE_TEST), "0 2 m/t10k-images-idx3-ubyte, image 0\n0,1,2,",
	    "MNIST files in an archive are read");
	snprintf(path, sizeof(path), "%s/m", pics_dir);
	source_open(&opt, &s);
	source_next(s, &it);
	source_next(s, &it);
	ok(it.c == 1 && it.h == 2 && it.w == 3 && it.n == 6 && memcmp(it.data, "ghijkl", 6) == 0,
	    "MNIST pixels are right");
	source_close(s);
	sh("cp m/t10k-* half && gunzip half/* && head -c 20 half/t10k-images-idx3-ubyte >half/x && mv half/x half/t10k-images-idx3-ubyte");
	is_str(all_of("half", NULL, SOURCE_TEST), "-3 half: t10k-images-idx3-ubyte: ends before image 0 of 1",
	    "a truncated MNIST file fails");
	is_str(all_of("half", NULL, SOURCE_TRAIN), "-7 half: no train-* files",
	    "a missing part fails");
	pics_write(pics_path("half/t10k-labels-idx1-ubyte"), labels, sizeof(labels) - 1);
	is_str(all_of("half", NULL, SOURCE_TEST),
	    "-4 half: 1 images in t10k-images-idx3-ubyte, but 2 labels in t10k-labels-idx1-ubyte",
	    "different numbers of images and labels fail");
	sh("mkdir e && for s in digits letters; do for f in images-idx3 labels-idx1; do "
	   "gunzip -c m/train-$f-ubyte.gz >e/emnist-$s-train-$f-ubyte; done; done");
	is_str(all_of("e", NULL, SOURCE_ALL),
	    "-7 e: holds several sets, emnist-digits-.. and emnist-letters-..; give the files of one",
	    "several sets of EMNIST in one place are refused");
	opt = (struct source_opt){ .paths = two, .n_paths = 2 };
	two[0] = pics_path("e/emnist-letters-train-images-idx3-ubyte");
	two[1] = pics_path("e/emnist-letters-train-labels-idx1-ubyte");
	is_str(told(&opt), "0 4 emnist-letters-train-images-idx3-ubyte, image 0\n"
	    "1 1 emnist-letters-train-images-idx3-ubyte, image 1\n0,1,2,3,4,",
	    "the files of one set may be given");
	sh("mkdir apart apart/c && touch apart/c/1.png");
	two[1] = pics_path("apart");
	ok(strncmp(told(&opt), "-7 ", 3) == 0, "images beside the files of MNIST are refused");
	opt = (struct source_opt){ .path = told_pipe("m.tgz") };
	is_str(told(&opt), "0 4 m/train-images-idx3-ubyte, image 0\n1 1 m/train-images-idx3-ubyte, image 1\n"
	    "2 2 m/t10k-images-idx3-ubyte, image 0\n0,1,2,3,4,", "MNIST is read from a pipe");
	is_str(all_of("half/t10k-images-idx3-ubyte", NULL, SOURCE_ALL), "-4 half/t10k-images-idx3-ubyte: the labels (idx1) of "
	    "t10k-images-idx3-ubyte are not named; name both files, or their folder",
	    "images named without their labels fail");
	sh("rm half/*labels*");
	is_str(all_of("half", NULL, SOURCE_ALL), "-4 half: no labels (idx1) next to t10k-images-idx3-ubyte",
	    "images without labels fail");
}

/* Downloads hold files of MNIST twice: packed and unpacked, or in folders of their names. */
static void
test_mnist_copies(void)
{
	struct source_opt opt = { .path = NULL };

	sh("mkdir -p copy/u two/a two/b && cp m/train-* copy && cp m/train-* copy/u && gunzip copy/u/*images* && tar cf copy.tar copy");
	is_str(all_of("copy", NULL, SOURCE_ALL),
	    "0 4 train-images-idx3-ubyte, image 0\n1 1 train-images-idx3-ubyte, image 1\n0,1,2,3,4,",
	    "copies of MNIST files beside them are not read again");
	opt.path = told_pipe("copy.tar");
	is_str(strstr(told(&opt), "image 1\n"), "image 1\n0,1,2,3,4,", "copies of MNIST files in a pipe are not read again");
	sh("gunzip -c m/t10k-labels-idx1-ubyte.gz >copy/train-labels-idx1-ubyte");
	is_str(all_of("copy", NULL, SOURCE_ALL), "-7 copy: holds different files of one part, copy/train-labels-idx1-ubyte and "
	    "copy/train-labels-idx1-ubyte.gz; give one of them", "other labels beside a compressed file of labels are refused");
	sh("cp m/train-* two/a && gunzip -c m/train-images-idx3-ubyte.gz | head -c 20 >two/b/train-images-idx3-ubyte && "
	   "tar cf two.tar two/a two/b");
	is_str(all_of("two", NULL, SOURCE_ALL), "-7 two: holds different files of one part, two/a/train-images-idx3-ubyte.gz and "
	    "two/b/train-images-idx3-ubyte; give one of them", "other images in another folder are refused");
	opt.path = told_pipe("two.tar");
	is_str(told(&opt), "-7 pipe: holds different files of one part, pipe: two/a/train-images-idx3-ubyte.gz and "
	    "pipe: two/b/train-images-idx3-ubyte; give one of them", "other images in a pipe are refused");
}

/* What comes after the images of the train files. */
static const char *
after_train(const char *text)
{
	const char *p = strstr(text, "image 1 = ghijkl\n");

	return p != NULL ? p + strlen("image 1 = ghijkl\n") : text;
}

/* Archives that end between their members, or in junk, so that files may be missing. */
static void
test_lost(void)
{
	struct source_opt opt = { .path = NULL };

	told_bytes = true;
	is_str(after_train(all_of("w2.tar", NULL, SOURCE_ALL)), "2 !  ! w2.tar: " TRAIN NO_END "\n0,1,2,3,4,",
	    "a cut archive of MNIST is reported after its images");
	is_str(after_train(all_of("n.tar", NULL, SOURCE_ALL)), "2 !  ! n.tar: w2.tar: " TRAIN NO_END "\n0,1,2,3,4,",
	    "a cut archive in an archive is reported after its images");
	opt.path = told_pipe("w2.tar");
	is_str(after_train(told(&opt)), "2 !  ! pipe: " TRAIN NO_END "\n0,1,2,3,4,",
	    "a cut archive from a pipe is reported after its images");
	is_str(after_train(all_of("j.tar", NULL, SOURCE_ALL)), "2 2 t10k-images-idx3-ubyte, image 0 = mnopqr\n3 !  ! j.tar: "
	    "after t10k-labels-idx1-ubyte: bytes after the end of the tar archive are not tar, and are not read\n0,1,2,3,4,",
	    "bytes after an archive of MNIST are reported");
	is_str(all_of("w2.tar", NULL, SOURCE_TEST), "-4 w2.tar: no t10k-* files: w2.tar: " TRAIN NO_END,
	    "the end that an archive lacks is why it has no test files");
	is_str(all_of("w1.tar", NULL, SOURCE_ALL), "-4 w1.tar: no labels (idx1) next to train-images-idx3-ubyte: w1.tar: "
	    "after train-images-idx3-ubyte: " NO_END, "the end that an archive lacks is why it has no labels");
	sh("for f in p/train/a/2.png data_batch_1.bin; do test -e $f || head -c 3073 /dev/zero >$f; "
	   "tar cf x.tar $f && head -c $(((512 + $(stat -c %%s $f) + 511) / 512 * 512)) x.tar >${f%%%%[/_]*}.cut; done");
	is_str(all_of("p.cut", NULL, SOURCE_TEST), "-4 p.cut: no folder test or val for --split: p.cut: " LEFT NO_END,
	    "the end that an archive lacks is why it has no folder of a split");
	opt.path = told_pipe("p.cut");
	opt.split = SOURCE_TEST;
	is_str(told(&opt), "0 !  ! pipe: " LEFT NO_END "\n-4 pipe: no folder test or val for --split: pipe: " LEFT NO_END,
	    "the end that a pipe lacks is why it has no folder of a split");
	is_str(all_of("data.cut", NULL, SOURCE_TEST), "0 !  ! data.cut: after data_batch_1.bin: " NO_END "\n-4 data.cut: "
	    "no test_batch.bin or test.bin: data.cut: after data_batch_1.bin: " NO_END,
	    "the end that an archive lacks is why it has no CIFAR files");
	told_bytes = false;
}

/* The stamp is that of the opened file, not of a file that has its name later. */
static void
test_read(void)
{
	const struct source_opt opt = { .path = pics_path("read.lst"), .bytes = 7 };
	const char *path;
	struct stamp was, now;
	struct buf b = { 0 };
	struct source *s;

	pics_write(opt.path, "", 0);
	if (source_open(&opt, &s) < 0)
		abort();
	path = pics_path("read.me");
	pics_write(path, "first", 5);
	ok(source_read(s, path, &b, &was) == 0 && b.n == 5, "source_read reads a later image");
	now = stamp_of(path);
	ok(was.bytes == 5 && memcmp(&was, &now, sizeof(was)) == 0, "source_read returns the stamp of the file");
	pics_write(path, "another", 7);
	now = stamp_of(path);
	ok(memcmp(&was, &now, sizeof(was)) != 0, "another file has another stamp");
	mkfifo(pics_path("pipe.png"), 0600);
	is(source_read(s, pics_path("pipe.png"), &b, &was), ERR_SYS, "source_read waits for no writer of a pipe");
	is_str(err_line(), "is not a regular file", "the line says that it is not a file");
	is(source_read(s, pics_path("is.not"), &b, &was), ERR_SYS,
	    "source_read fails on a missing file");
	ok(was.bytes == 0 && was.s == 0 && was.ns == 0, "a missing file has no stamp");
	b.n = 0;
	is(source_read(s, path, &b, &was), 0, "a file of as many bytes as the limit is read");
	pics_write(path, "too long", 8);
	is(source_read(s, path, &b, &was), ERR_BYTES, "a longer one is refused");
	source_close(s);
	buf_free(&b);
}

int
main(void)
{
	test_read();
	pics_path("");
	test_folders();
	test_given();
	test_splits();
	test_list();
	test_cifar();
	test_cifar100();
	test_mnist();
	test_mnist_copies();
	test_lost();
	buf_free(&told_text);
	pics_clean();
	return done();
}
