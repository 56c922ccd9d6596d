/* unpack - decompresses gzip, xz and zstd. */
#include "source/unpack.h"
#include "base/err.h"

#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#define BLOCK	65536u			/* bytes per read */
#define MEMORY	((uint64_t)1 << 30)	/* most bytes that a decoder of xz may take */

enum step { MORE, MEMBER_END };

/* Compressed and decompressed bytes that a step takes and gives. */
struct window {
	const uint8_t	*in;
	size_t		 n;
	uint8_t		*out;
	size_t		 room;
};

struct unpack {
	const struct format	*format;
	struct arc_in		 in;
	z_stream		 gzip;
	lzma_stream		 xz;
	ZSTD_DStream		*zstd;
	bool			 between;	/* at the start or after a member that is complete */
	bool			 any;		/* a member was read */
	bool			 ended;		/* no bytes follow in block */
	int			 e;		/* what every later read returns */
	char			 line[ERR_LINE];
	size_t			 next, n;	/* bytes of block not yet taken */
	uint8_t			 block[BLOCK];
};

struct format {
	const char	*magic, *name;
	size_t		 n;
	int		(*open)(struct unpack *u);
	/* Returns MORE, MEMBER_END or an error. */
	int		(*step)(struct unpack *u, struct window *w);
	void		(*close)(struct unpack *u);
};

static int
open_gzip(struct unpack *u)
{
	return inflateInit2(&u->gzip, 15 + 16) == Z_OK ? 0 : err_nomem();
}

static int
step_gzip(struct unpack *u, struct window *w)
{
	z_stream *z = &u->gzip;
	int r;

	z->next_in = (z_const Bytef *)w->in;
	z->avail_in = (uInt)w->n;
	z->next_out = w->out;
	z->avail_out = (uInt)w->room;
	r = inflate(z, Z_NO_FLUSH);
	w->in = z->next_in;
	w->n = z->avail_in;
	w->out = z->next_out;
	w->room = z->avail_out;
	if (r == Z_STREAM_END)
		return inflateReset(z) == Z_OK ? MEMBER_END : err_nomem();
	if (r == Z_OK || r == Z_BUF_ERROR)
		return MORE;
	return r == Z_MEM_ERROR ? err_nomem()
	    : err_fail(ERR_FORMAT, "damaged gzip data: %s", z->msg != NULL ? z->msg : "not deflated");
}

static void
close_gzip(struct unpack *u)
{
	inflateEnd(&u->gzip);
}

static int
open_xz(struct unpack *u)
{
	return lzma_stream_decoder(&u->xz, MEMORY, 0) == LZMA_OK ? 0 : err_nomem();
}

static int
step_xz(struct unpack *u, struct window *w)
{
	lzma_stream *z = &u->xz;
	lzma_ret r;

	z->next_in = w->in;
	z->avail_in = w->n;
	z->next_out = w->out;
	z->avail_out = w->room;
	r = lzma_code(z, LZMA_RUN);
	w->in = z->next_in;
	w->n = z->avail_in;
	w->out = z->next_out;
	w->room = z->avail_out;
	if (r == LZMA_STREAM_END)
		return open_xz(u) == 0 ? MEMBER_END : ERR_NOMEM;
	if (r == LZMA_OK || r == LZMA_BUF_ERROR)
		return MORE;
	return r == LZMA_MEM_ERROR ? err_nomem() : r == LZMA_MEMLIMIT_ERROR
	    ? err_fail(ERR_FORMAT, "xz data that takes more than %llu bytes of memory", (unsigned long long)MEMORY)
	    : err_fail(ERR_FORMAT, "damaged xz data");
}

static void
close_xz(struct unpack *u)
{
	lzma_end(&u->xz);
}

static int
open_zstd(struct unpack *u)
{
	return (u->zstd = ZSTD_createDStream()) != NULL ? 0 : err_nomem();
}

static int
step_zstd(struct unpack *u, struct window *w)
{
	ZSTD_inBuffer in = { w->in, w->n, 0 };
	ZSTD_outBuffer out = { w->out, w->room, 0 };
	size_t r = ZSTD_decompressStream(u->zstd, &out, &in);

	w->in += in.pos;
	w->n -= in.pos;
	w->out += out.pos;
	w->room -= out.pos;
	if (ZSTD_isError(r))
		return err_fail(ERR_FORMAT, "damaged zstd data: %s", ZSTD_getErrorName(r));
	return r == 0 ? MEMBER_END : MORE;
}

static void
close_zstd(struct unpack *u)
{
	ZSTD_freeDStream(u->zstd);
}

static const struct format formats[] = {
	{ "\x1f\x8b\x08", "gzip", 3, open_gzip, step_gzip, close_gzip },
	{ "\xfd" "7zXZ", "xz", 6, open_xz, step_xz, close_xz },
	{ "\x28\xb5\x2f\xfd", "zstd", 4, open_zstd, step_zstd, close_zstd },
};

static const struct format *
find_format(const uint8_t *head, size_t n)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (n >= formats[i].n && memcmp(head, formats[i].magic, formats[i].n) == 0)
			return &formats[i];
	return NULL;
}

bool
unpack_knows(const uint8_t *head, size_t n)
{
	return find_format(head, n) != NULL;
}

int
unpack_open(struct arc_in in, const uint8_t *head, size_t n, struct unpack **out)
{
	struct unpack *u = calloc(1, sizeof(*u));
	int e;

	*out = NULL;
	if (u == NULL)
		return err_nomem();
	u->format = find_format(head, n);
	u->in = in;
	u->between = true;
	if ((e = u->format->open(u)) < 0) {
		free(u);
		return e;
	}
	*out = u;
	return 0;
}

void
unpack_close(struct unpack *u)
{
	if (u == NULL)
		return;
	u->format->close(u);
	free(u);
}

/* Makes room for bytes and reads them.  What the block holds stays. */
static int
fill_block(struct unpack *u)
{
	size_t got;

	memmove(u->block, u->block + u->next, u->n);
	u->next = 0;
	ERR_TRY(u->in.read(u->in.ctx, u->block + u->n, BLOCK - u->n, &got));
	u->ended = got < BLOCK - u->n;
	u->n += got;
	return 0;
}

/* Whether the next bytes begin a member; of zstd also one to be skipped, such as a table for seeking. */
static bool
begins_member(const struct unpack *u)
{
	const uint8_t *p = u->block + u->next;

	return find_format(p, u->n) == u->format || (u->format->step == step_zstd && u->n >= 4 &&
	    (*p & 0xf0) == 0x50 && memcmp(p + 1, "\x2a\x4d\x18", 3) == 0);
}

/* Between members there may be zeros.  Returns 1 if another begins, 0 at the end, or an error. */
static int
find_member(struct unpack *u)
{
	for (;;) {
		while (u->any && u->n > 0 && u->block[u->next] == 0) {
			u->next++;
			u->n--;
		}
		if (u->n >= u->format->n || u->ended)
			break;
		ERR_TRY(fill_block(u));
	}
	if (u->n == 0)
		return 0;
	return begins_member(u) ? 1 : err_fail(ERR_FORMAT,
	    "bytes after the end of the compressed data are not %s, and are not read", u->format->name);
}

/* Returns 1 if bytes may follow, 0 at the end, or an error. */
static int
read_step(struct unpack *u, struct window *w)
{
	size_t n;
	int e;

	if (u->between && (e = find_member(u)) <= 0)
		return e;
	u->between = false;
	if (u->n == 0 && !u->ended)
		ERR_TRY(fill_block(u));
	w->in = u->block + u->next;
	w->n = n = u->n;
	if ((e = u->format->step(u, w)) < 0)
		return e;
	u->next += n - w->n;
	u->n = w->n;
	u->between = e == MEMBER_END;
	u->any |= u->between;
	if (u->n == 0 && u->ended && !u->between && w->room > 0)
		return err_fail(ERR_SHORT, "the %s data is cut", u->format->name);
	return 1;
}

int
unpack_read(struct unpack *u, void *p, size_t n, size_t *got)
{
	struct window w = { .out = p, .room = n };
	int e = u->e < 0 ? u->e : 1;

	if (e < 0)
		err_note(0, "%s", u->line);
	while (e > 0 && w.room > 0)
		e = read_step(u, &w);
	*got = n - w.room;
	if (e < 0 && u->e == 0) {
		snprintf(u->line, sizeof(u->line), "%s", err_line());
		u->e = e;
	}
	return e < 0 ? e : 0;
}
