/* img_apart_test - a decoder that crashes, prints or answers nonsense costs its image alone. */
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

/* Decodes to pixels that count from the first byte of the data on. */
static int
count_up(const void *library, const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head, struct buf *room)
{
	(void)n, (void)pixels;
	*head = *(const struct img_head *)library;
	if (room == NULL)
		return 0;
	if (buf_room(room, BYTES) < 0)
		return ERR_NOMEM;
	for (size_t i = 0; i < BYTES; i++)
		room->p[i] = (uint8_t)(*data + i);
	return 0;
}

static int
crash(const void *library, const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head, struct buf *room)
{
	(void)library, (void)data, (void)n, (void)pixels, (void)head, (void)room;
	raise(SIGABRT);
	return 0;
}

static int
stop_early(const void *library, const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head, struct buf *room)
{
	(void)library, (void)data, (void)n, (void)pixels, (void)head, (void)room;
	_exit(0);
}

static int
refuse(const void *library, const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head, struct buf *room)
{
	(void)library, (void)data, (void)n, (void)pixels, (void)head, (void)room;
	return err_fail(ERR_LIMIT, "too large");
}

static int
print_and_open(const void *library, const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head,
    struct buf *room)
{
	fputs("a decoder prints\n", stderr);
	fflush(stderr);
	if (fopen("/dev/null", "r") != NULL)
		return err_fail(ERR_SYS, "a file was opened");
	return count_up(library, data, n, pixels, head, room);
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

/* Runs a decoder for both calls.  Returns the error of them, or 1 if they differ. */
static int
run_both(img_apart_decoder *decode, const struct img_head *library)
{
	const struct img_apart a = { decode, library, "libtest" };
	static struct buf room;
	struct img_head head;
	struct img out;
	int e = img_apart_head(&a, (const uint8_t *)"7", 1, PIXELS, &head);
	int f = img_apart_decode(&a, (const uint8_t *)"7", 1, 0, PIXELS, &room, &out);

	buf_free(&room);
	return e == f ? e : 1;
}

static void
test_good(void)
{
	static const struct { uint32_t from, to; } channels[] = { { 3, 0 }, { 3, 3 }, { 3, 1 }, { 1, 0 }, { 1, 1 }, { 1, 3 } };
	struct buf room = { 0 };

	for (size_t i = 0; i < sizeof(channels) / sizeof(*channels); i++) {
		struct img_head library = good, head = { 0 };
		struct img_apart a = { count_up, &library, "libtest" };
		uint32_t from = channels[i].from, to = channels[i].to > 0 ? channels[i].to : from, n = good.h * good.w;
		uint8_t p[BYTES], want[BYTES];
		struct img out = { 0 };

		library.c = from;
		for (uint32_t k = 0; k < n * from; k++)
			p[k] = (uint8_t)('7' + k);
		img_convert_channels(p, from, n, to, want);
		ok(img_apart_head(&a, (const uint8_t *)"7", 1, PIXELS, &head) == 0 && memcmp(&head, &library, sizeof(head)) == 0,
		    "the header is that of the decoder");
		ok(img_apart_decode(&a, (const uint8_t *)"7", 1, channels[i].to, PIXELS, &room, &out) == 0 && out.c == to &&
		    out.h == good.h && out.w == good.w && memcmp(out.p, want, n * to) == 0,
		    "%u channels are read as %u: %s", from, to, err_line());
	}
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
		is(run_both(count_up, &bad[i]), ERR_FORMAT, "header %zu, which makes no sense, is refused: %s", i, err_line());
}

int
main(void)
{
	size_t before = count_descriptors();

	test_good();
	test_nonsense();
	is(run_both(crash, &good), ERR_FORMAT, "a crash is an error of the image");
	ok(strstr(err_line(), "libtest crashed on it: ") != NULL, "its line names the library: %s", err_line());
	is(run_both(stop_early, &good), ERR_FORMAT, "a decoder that ends the process is an error of the image");
	is_str(err_line(), "libtest gave up on it", "its line says so");
	is(run_both(refuse, &good), ERR_LIMIT, "an error of the decoder is returned");
	is_str(err_line(), "too large", "with its line");
	is(run_both(print_and_open, &good), 0, "a decoder can neither print nor open files: %s", err_line());
	is(count_descriptors(), before, "no descriptor stays open");
	ok(waitpid(-1, NULL, WNOHANG) < 0, "no process stays");
	return done();
}
