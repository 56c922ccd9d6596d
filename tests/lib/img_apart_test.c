/* img_apart_test - a decoder that crashes, prints or returns an invalid answer costs its image alone. */
#include "base/err.h"
#include "image/loaded/img_apart.h"
#include "tap.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIXELS	1000u
#define BYTES	(20u * 30 * 3)	/* of the pixels of `good` */

static const struct img_head good = { .format = IMG_JXL, .c = 3, .h = 20, .w = 30, .orientation = 1, .lossless = true };

/* The library of a decoder here. */
struct library {
	struct img_head	 head;
	uint8_t		 first;		/* of the pixels, which count up from it */
};

/* What the library is loaded as. */
static struct library loaded;

static int
load(void *library)
{
	memcpy(library, &loaded, sizeof(loaded));
	return 0;
}

static int
read_head(void *library, const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head)
{
	struct library *l = library;

	(void)n, (void)pixels;
	*head = l->head;
	l->first = *data;
	return 0;
}

static int
count_up(void *library, const struct img_head *head, uint8_t *p)
{
	const struct library *l = library;

	for (uint32_t i = 0; i < head->h * head->w * head->c; i++)
		p[i] = (uint8_t)(l->first + i);
	return 0;
}

static int
crash_at_head(void *library, const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head)
{
	(void)library, (void)data, (void)n, (void)pixels, (void)head;
	raise(SIGABRT);
	return 0;
}

static int
crash(void *library, const struct img_head *head, uint8_t *p)
{
	(void)library, (void)head, (void)p;
	raise(SIGABRT);
	return 0;
}

static int
stop_early(void *library, const struct img_head *head, uint8_t *p)
{
	(void)library, (void)head, (void)p;
	_exit(0);
}

static int
refuse(void *library, const struct img_head *head, uint8_t *p)
{
	(void)library, (void)head, (void)p;
	return err_fail(ERR_LIMIT, "too large");
}

static int
print_and_open(void *library, const struct img_head *head, uint8_t *p)
{
	fputs("a decoder prints\n", stderr);
	fflush(stderr);
	if (fopen("/dev/null", "r") != NULL)
		return err_fail(ERR_SYS, "a file was opened");
	return count_up(library, head, p);
}

/* Puts the process into the pixels. */
static int
show_process(void *library, const struct img_head *head, uint8_t *p)
{
	pid_t me = getpid();

	(void)library, (void)head;
	memcpy(p, &me, sizeof(me));
	return 0;
}

static size_t
count_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	while (d != NULL && readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

/* A decoder whose decode() is this one. */
#define DECODER(decode)	((struct img_apart){ load, read_head, decode, "libtest" })

/* Reads an image's header and decodes it, and decodes it without.  Returns the error of them, or 1 if they differ. */
static int
run_both(struct img_apart a, const struct img_head *says)
{
	struct img_apart_child child = { 0 };
	static struct buf room;
	struct img_head head;
	struct img out;
	int e, f;

	loaded.head = *says;
	e = img_apart_head(&child, &a, (const uint8_t *)"7", 1, PIXELS, &head);
	if (e == 0)
		e = img_apart_decode(&child, &a, (const uint8_t *)"7", 1, 0, PIXELS, &room, &out);
	f = img_apart_decode(&child, &a, (const uint8_t *)"7", 1, 0, PIXELS, &room, &out);
	buf_free(&room);
	return e == f ? e : 1;
}

static void
test_good(void)
{
	static const struct { uint32_t from, to; } channels[] = { { 3, 0 }, { 3, 3 }, { 3, 1 }, { 1, 0 }, { 1, 1 }, { 1, 3 } };
	struct buf room = { 0 };

	for (size_t i = 0; i < sizeof(channels) / sizeof(*channels); i++) {
		const struct img_apart a = DECODER(count_up);
		struct img_apart_child child = { 0 };
		struct img_head head = { 0 };
		uint32_t from = channels[i].from, to = channels[i].to > 0 ? channels[i].to : from, n = good.h * good.w;
		uint8_t p[BYTES], want[BYTES];
		struct img out = { 0 };

		loaded.head = good;
		loaded.head.c = from;
		for (uint32_t k = 0; k < n * from; k++)
			p[k] = (uint8_t)('7' + k);
		img_convert_channels(p, from, n, to, want);
		ok(img_apart_head(&child, &a, (const uint8_t *)"7", 1, PIXELS, &head) == 0 &&
		    memcmp(&head, &loaded.head, sizeof(head)) == 0,
		    "the header is that of the decoder");
		ok(img_apart_decode(&child, &a, (const uint8_t *)"7", 1, channels[i].to, PIXELS, &room, &out) == 0 &&
		    out.c == to && out.h == good.h && out.w == good.w && memcmp(out.p, want, n * to) == 0,
		    "%u channels are read as %u: %s", from, to, err_line());
	}
	buf_free(&room);
}

/* One child reads the header and decodes; another image, or the same one again, gets another. */
static void
test_one_child(void)
{
	const struct img_apart a = DECODER(show_process);
	struct img_apart_child child = { 0 };
	uint8_t image[] = "7";
	struct buf room = { 0 };
	struct img_head head;
	struct img out;
	pid_t first = 0, of = 0;

	loaded.head = good;
	ok(img_apart_head(&child, &a, image, 1, PIXELS, &head) == 0 && (first = child.pid) > 0, "a child reads the header");
	ok(img_apart_decode(&child, &a, image, 1, 0, PIXELS, &room, &out) == 0, "the image is decoded");
	memcpy(&of, out.p, sizeof(of));
	is(of, first, "the child that read the header decodes the image");
	is(child.pid, 0, "the child ends with its image");
	is(waitpid(first, NULL, WNOHANG), -1, "the ended child is reaped");
	ok(img_apart_head(&child, &a, image, 1, PIXELS, &head) == 0 && (first = child.pid) > 0, "the header is read again");
	image[0] = '8';
	ok(img_apart_decode(&child, &a, image, 1, 0, PIXELS, &room, &out) == 0 && memcmp(&first, out.p, sizeof(first)) != 0,
	    "another image in the same place is not decoded in its child");
	ok(img_apart_head(&child, &a, image, 1, PIXELS, &head) == 0 && (first = child.pid) > 0, "another child reads the header");
	img_apart_end(&child);
	ok(child.pid == 0 && waitpid(first, NULL, WNOHANG) < 0, "a child that is not needed ends");
	buf_free(&room);
}

static void
test_nonsense(void)
{
	struct img_head bad[8];

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		bad[i] = good;
	bad[0].w = 0;
	bad[1].h = 0xffffffff;
	bad[2].c = 4;
	bad[3].format = IMG_PNG;
	bad[4].orientation = 6;
	bad[5].by_rows = true;
	bad[6].sub_h = 2;
	bad[7].w = 1001;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		is(run_both(DECODER(count_up), &bad[i]), ERR_FORMAT, "header %zu, which makes no sense, is refused: %s", i, err_line());
}

int
main(void)
{
	size_t before = count_descriptors();

	test_good();
	test_one_child();
	test_nonsense();
	is(run_both((struct img_apart){ load, crash_at_head, count_up, "libtest" }, &good), ERR_FORMAT,
	    "a crash at the header is an error of the image");
	is(run_both(DECODER(crash), &good), ERR_FORMAT, "a crash at the pixels is an error of the image");
	ok(strstr(err_line(), "libtest crashed on it: ") != NULL, "the line of a crash names the library: %s", err_line());
	is(run_both(DECODER(stop_early), &good), ERR_FORMAT, "a decoder that ends the process is an error of the image");
	is_str(err_line(), "libtest gave up on it", "the line says that the library gave up");
	is(run_both(DECODER(refuse), &good), ERR_LIMIT, "an error of the decoder is returned");
	is_str(err_line(), "too large", "the decoder's line is returned");
	is(run_both(DECODER(print_and_open), &good), 0, "a decoder can neither print nor open files: %s", err_line());
	is(count_descriptors(), before, "no descriptor stays open");
	ok(waitpid(-1, NULL, WNOHANG) < 0, "no process stays");
	return done();
}
