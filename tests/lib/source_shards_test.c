/* source_shards_test - webdataset shards give images with the labels next to them. */
#include "told.h"

#define NO_CLASS	"is not a class, 0 to 16777215; KEY.json takes other numbers"
#define NO_FLOAT	"is not a float of 32 bits, \"nan\" or \"inf\""

static struct source_opt opt;

/* Writes a file of a sample; the text of a label's file is the label. */
static void
put(const char *name, const char *text)
{
	pics_write(pics_path(name), text, strlen(text));
}

static void
test_samples(void)
{
	char labels[256];

	put("1.cls", "7");
	put("2.cls", " 0\n");
	put("4.cls", "cat");
	put("6.cls", "-1");
	put("7.cls", "2");
	put("7.cls2", "5");
	told_pack("s.tar", "ustar", NULL, (const char *const[]){ "1.cls", "1.jpg", "2.jpg", "2.cls", "2.json",
	    "2.mask.png",
	    "3.jpg", "4.cls", "4.png", "5.json", "6.cls", "6.jpg", "7.cls", "7.cls2", "7.jpeg", NULL });
	is_str(told_of(&opt, "s.tar"), "0 7 s.tar: 1.jpg = 1.jpg\n1 0 s.tar: 2.jpg = 2.jpg\n"
	    "2 ! s.tar: 3.jpg ! has no label (.cls or .json) next to it\n"
	    "3 ! s.tar: 4.png ! its label 'cat' " NO_CLASS "\n4 ! s.tar: 6.jpg ! its label '-1' " NO_CLASS "\n"
	    "5 2 5 s.tar: 7.jpeg = 7.jpeg\n0,1,2,3,4,5,6,7,",
	    "a shard gives complete samples, and incomplete ones are bad");
	opt.path = told_pipe("s.tar");
	ok(strstr(told(&opt), "5 2 5 pipe: 7.jpeg = 7.jpeg\n0,1,2,3,4,5,6,7,") != NULL,
	    "a pipe gives the same");
	put("names", "dog\nbird\ncat\n");
	snprintf(labels, sizeof(labels), "%s", pics_path("names"));
	opt.labels = labels;
	opt.label_width = 1;
	is_str(told_of(&opt, "s.tar"),
	    "0 ! s.tar: 1.jpg ! its label 7 is not one of the 3 given classes\n1 0 s.tar: 2.jpg = 2.jpg\n"
	    "2 ! s.tar: 3.jpg ! has no label (.cls or .json) next to it\n3 2 s.tar: 4.png = 4.png\n"
	    "4 ! s.tar: 6.jpg ! its label '-1' " NO_CLASS "\n5 2 s.tar: 7.jpeg = 7.jpeg\ndog,bird,cat,",
	    "given class names may be labels, and label_width 1 keeps one of two");
	opt = (struct source_opt){ .parts = 2, .part = 1 };
	ok(strncmp(told_of(&opt, "s.tar"), "1 0 s.tar: 2.jpg = 2.jpg\n3 ! s.tar: 4.png", 40) == 0,
	    "parts 2 gives every second sample");
	opt.parts = opt.part = 0;
}

static void
test_names(void)
{
	put("__labels__", "cat\ndog\n");
	told_pack("l.tar", "ustar", NULL, (const char *const[]){ "__labels__", "2.cls", "2.jpg", NULL });
	is_str(told_of(&opt, "l.tar"), "0 0 l.tar: 2.jpg = 2.jpg\ncat,dog,", "a shard has the names of its classes");
	pics_write(pics_path("__labels__"), "\xff\xfe" "c\0\n\0", 6);
	told_pack("l.tar", "ustar", NULL, (const char *const[]){ "__labels__", "2.cls", "2.jpg", NULL });
	ok(strstr(told_of(&opt, "l.tar"), "a zero byte; save the names as UTF-8") != NULL, "names in UTF-16 are refused");
}

static void
test_first(void)
{
	told_pack("f.tar", "ustar", NULL, (const char *const[]){ "1.bmp", "1.cls", "2.bmp", "2.cls", NULL });
	is_str(told_of(&opt, "f.tar"), "0 7 f.tar: 1.bmp = 1.bmp\n1 0 f.tar: 2.bmp = 2.bmp\n0,1,2,3,4,5,6,7,",
	    "images may come before labels");
	opt.path = told_pipe("f.tar");
	is_str(told(&opt), "0 7 pipe: 1.bmp = 1.bmp\n1 0 pipe: 2.bmp = 2.bmp\n0,1,2,3,4,5,6,7,",
	    "images may come before labels in a pipe");
	told_pack("t.tar", "ustar", NULL, (const char *const[]){ "1.cls", "1.jpg", "1.png", "2.cls", NULL });
	is_str(told_of(&opt, "t.tar"), "0 ! t.tar: 1.jpg ! another image of the same sample\n"
	    "1 ! t.tar: 2.cls ! has no image next to it\n0,1,2,3,4,5,6,7,",
	    "a sample with two images or none is bad");
}

#define FORMS	"labels in JSON are a number, such as 3, or {\"labels\": [3, 0.5]}"
#define NOWHERE	"-4 n.tar: its images are in no class folders, and a.json: "

/* A JSON file has labels in its member "labels", or is a number. */
static void
test_lists(void)
{
	static const struct { const char *text, *told, *found; } alone[] = {
		{ "3", "0 3 n.tar: a.jpg = a.jpg\n", NULL }, { " -0.5\n", "0 -0.5 n.tar: a.jpg = a.jpg\n", NULL },
		{ "{\"labels\": \"inf\"}", "0 inf n.tar: a.jpg = a.jpg\n", NULL },
		{ "{\"labels\": \"cat\"}", "0 ! n.tar: a.jpg ! a.json: its label number 1 " NO_FLOAT "\n", NULL },
		{ "{\"labels\": []}", "0 ! n.tar: a.jpg ! a.json: its list of labels is empty\n", NULL },
		{ "NaN", NOWHERE, "'NaN'" }, { "1e400", NOWHERE, "'1e400'" }, { "[1,]", NOWHERE, "']'" },
		{ "cat", NOWHERE, "'cat'" }, { "", NOWHERE, "end of file" },
		{ "[1, 2]", NOWHERE, "is neither a number nor an object with labels" },
		{ "\"cat\"", NOWHERE, "is neither a number nor an object with labels" },
		{ "{\"label\": 3}", NOWHERE, "has no member \"labels\"" },
	};

	put("a.json", "{\"labels\": [0.5, -2, 3e2], \"by\": \"hand\"}");
	put("b.json", "{\"labels\": [1, null]}");
	put("c.json", "{\"caption\": \"labels\"}");
	put("d.json", "[7]");
	put("7.json", "{\"labels\": [8]}");
	told_pack("j.tar", "ustar", NULL, (const char *const[]){ "a.jpg", "a.json", "b.jpg", "b.json", "c.jpg",
	    "c.json",
	    "d.jpg", "d.json", "7.cls", "7.json", "7.jpg", NULL });
	is_str(told_of(&opt, "j.tar"),
	    "0 0.5 -2 300 j.tar: a.jpg = a.jpg\n1 ! j.tar: b.jpg ! b.json: its label number 2 " NO_FLOAT "\n"
	    "2 ! j.tar: c.jpg ! c.json: has no member \"labels\"; " FORMS "\n"
	    "3 ! j.tar: d.jpg ! d.json: is neither a number nor an object with labels; " FORMS "\n"
	    "4 2 j.tar: 7.jpg = 7.jpg\n0,1,2,", "JSON gives labels, and .cls takes precedence");
	opt.path = told_pipe("j.tar");
	ok(strstr(told(&opt), "0 0.5 -2 300 pipe: a.jpg = a.jpg\n") != NULL,
	    "JSON labels are read from a pipe");
	told_pack("k.tar", "ustar", NULL, (const char *const[]){ "a.json", "a.jpg", NULL });
	is_str(told_of(&opt, "k.tar"), "0 0.5 -2 300 k.tar: a.jpg = a.jpg\n",
	    "JSON may come before its image, and names no classes");
	for (size_t i = 0; i < sizeof(alone) / sizeof(*alone); i++) {
		put("a.json", alone[i].text);
		told_pack("n.tar", "ustar", NULL, (const char *const[]){ "a.jpg", "a.json", NULL });
		ok(strncmp(told_of(&opt, "n.tar"), alone[i].told, strlen(alone[i].told)) == 0 &&
		    (alone[i].found == NULL || (strstr(told(&opt), alone[i].found) != NULL &&
		    strstr(told(&opt), "; " FORMS) != NULL)),
		    "a.json with '%s' is read, or refused by its name", alone[i].text);
	}
	put("7.json", "no label");
	told_pack("c.tar", "ustar", NULL, (const char *const[]){ "7.json", "7.cls", "7.jpg", NULL });
	ok(strncmp(told_of(&opt, "c.tar"), "0 2 c.tar: 7.jpg", 16) == 0, "damaged JSON next to a .cls does not matter");
	sh("mkdir -p both/cat both/dog && cp c.json both/cat/1.json && cp c.json both/dog/1.json && touch both/cat/1.jpg both/dog/1.jpg");
	ok(strstr(told_of(&opt, "both"), "cat,dog,") != NULL,
	    "JSON next to images in class folders is not a label");
}

static void
test_shards(void)
{
	const char *two[2];

	sh("mkdir shards");
	told_pack("shards/train-000001.tar", "ustar", NULL, (const char *const[]){ "2.cls", "2.jpg", NULL });
	told_pack("shards/train-000000.tar", "ustar", NULL, (const char *const[]){ "1.cls", "1.jpg", NULL });
	told_pack("shards/x-val-000000.tar.gz", "ustar", "gzip", (const char *const[]){ "1.cls", "1.jpg", NULL });
	is_str(told_of(&opt, "shards"),
	    "0 7 shards/train-000000.tar: 1.jpg = 1.jpg\n1 0 shards/train-000001.tar: 2.jpg = 2.jpg\n"
	    "2 7 shards/x-val-000000.tar.gz: 1.jpg = 1.jpg\n0,1,2,3,4,5,6,7,",
	    "a directory of shards is read in the order of names");
	opt.split = SOURCE_TRAIN;
	is_str(told_of(&opt, "shards"),
	    "0 7 shards/train-000000.tar: 1.jpg = 1.jpg\n1 0 shards/train-000001.tar: 2.jpg = 2.jpg\n"
	    "0,1,2,3,4,5,6,7,", "the train split reads shards called train");
	opt.split = SOURCE_TEST;
	ok(strncmp(told_of(&opt, "shards"), "0 7 shards/x-val-000000.tar.gz: 1.jpg", 37) == 0,
	    "the test split reads shards called test");
	sh("rm shards/x*");
	is_str(told_of(&opt, "shards"), "-7 shards: no shards called test or val",
	    "a missing split fails");
	opt = (struct source_opt){ .paths = two, .n_paths = 2 };
	two[0] = pics_path("shards/train-000001.tar");
	two[1] = pics_path("shards/train-000000.tar");
	is_str(told(&opt), "0 0 shards/train-000001.tar: 2.jpg = 2.jpg\n1 7 shards/train-000000.tar: 1.jpg = 1.jpg\n"
	    "0,1,2,3,4,5,6,7,", "several shards as paths are read in that order");
	opt.n_paths = 0;
	sh("mkdir flat && cp 1.cls flat && printf picture >flat/1.jpg");
	is_str(told_of(&opt, "flat"), "0 7 flat/1.jpg = picture\n0,1,2,3,4,5,6,7,",
	    "unpacked samples are read");
	sh("head -c 2700 s.tar >cut.tar");
	ok(strstr(told_of(&opt, "cut.tar"), "0 7 cut.tar: 1.jpg = 1.jpg\n-4 cut.tar: ") != NULL,
	    "a truncated shard fails");
}

int
main(void)
{
	pics_path("");
	told_bytes = true;
	test_samples();
	test_names();
	test_first();
	test_lists();
	test_shards();
	buf_free(&told_text);
	pics_clean();
	return done();
}
