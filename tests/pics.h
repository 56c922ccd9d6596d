/* pics - small images and record files for tests. */
#ifndef TESTS_PICS_H
#define TESTS_PICS_H

#include "base/buf.h"
#include "base/io.h"
#include "base/rng.h"
#include "image/img.h"
#include "record/imrec.h"
#include "record/rec.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Pixels that only (id, place, channel) decide. */
__attribute__((unused)) static void
pics_fill(uint8_t *p, uint32_t c, uint32_t h, uint32_t w, uint64_t id)
{
	struct rng r = rng_start(1, 2, id);

	for (size_t i = 0; i < (size_t)c * h * w; i++)
		p[i] = (uint8_t)(rng_u64(&r) >> 56);
}

/* Appends a record; returns 0 when all went well. */
__attribute__((unused)) static int
pics_rec(int fd, const void *data, size_t n)
{
	struct buf b = { 0 };
	int e = rec_frame(&b, data, n);

	if (e == 0)
		e = io_write(fd, b.p, b.n);
	buf_free(&b);
	return e;
}

/* Appends to fd a record with such an image as PNG. */
__attribute__((unused)) static int
pics_put(int fd, uint64_t id, float label, uint32_t c, uint32_t h, uint32_t w)
{
	struct img im = { .c = c, .h = h, .w = w };
	struct buf png = { 0 }, rec = { 0 };
	uint8_t *p = malloc((size_t)c * h * w);
	int e;

	pics_fill(p, c, h, w, id);
	im.p = p;
	e = img_encode_png(&im, &png);
	if (e == 0)
		e = imrec_encode(&rec, id, &label, 1, png.p, png.n);
	if (e == 0)
		e = pics_rec(fd, rec.p, rec.n);
	free(p);
	buf_free(&png);
	buf_free(&rec);
	return e;
}

/* A record with bytes that are no image. */
__attribute__((unused)) static int
pics_put_bad(int fd, uint64_t id)
{
	float label = 0;
	struct buf rec = { 0 };
	int e = imrec_encode(&rec, id, &label, 1, "not a picture", 13);

	if (e == 0)
		e = pics_rec(fd, rec.p, rec.n);
	buf_free(&rec);
	return e;
}

/* A fresh directory, removed by pics_clean(). */
static char pics_dir[] = "/tmp/tally-test.XXXXXX";

__attribute__((unused)) static const char *
pics_path(const char *name)
{
	static char path[4][256];
	static int turn;

	if (strcmp(pics_dir, "/tmp/tally-test.XXXXXX") == 0 && mkdtemp(pics_dir) == NULL)
		exit(1);
	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", pics_dir, name);
	return path[turn];
}

__attribute__((unused)) static int
pics_create(const char *path)
{
	return open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
}

__attribute__((unused)) static int
pics_write(const char *path, const void *p, size_t n)
{
	int fd = pics_create(path);
	int e = fd < 0 ? fd : io_write(fd, p, n);

	close(fd);
	return e;
}

__attribute__((unused)) static void
pics_clean(void)
{
	char cmd[300];

	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", pics_dir);
	if (system(cmd) != 0)
		printf("# %s stays\n", pics_dir);
}

#endif
