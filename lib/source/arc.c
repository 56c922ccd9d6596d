/* arc - reads the members of an archive one after the other, with libarchive. */
#include "source/arc.h"
#include "base/err.h"
#include "base/io.h"
#include "source/arc_child.h"
#include "source/arc_local.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK		65536u			/* bytes read ahead */
#define COPIED		((uint64_t)1 << 34)	/* most bytes copied of an archive that is not a file */
#define HEAD		16u			/* bytes that tell the compression */
#define ISO_AT		32769u			/* offset of the magic of ISO 9660 */

struct arc {
	struct arc_local	*local;		/* reader in this process, or NULL */
	struct arc_child	*child;		/* reader in a separate process, or NULL */
	int			 fd;		/* the file, or -1: read from in */
	struct arc_in		 in;
	/*
	 * The locale for libarchive's calls; 0: the thread's.  libarchive converts the names of these formats to the
	 * characters of the locale, and loses a name that these cannot express.  Names of a tar are bytes.
	 */
	locale_t		 utf8;
	size_t			 head;		/* bytes of block that were read ahead */
	size_t			 next;		/* bytes of the head that were consumed */
	uint8_t			 block[BLOCK];
};

/* Whether the bytes are of a format that needs a separate process.  Programs may be self-extracting archives. */
static bool
needs_child_format(const uint8_t *p, size_t n)
{
	static const struct {
		const char	*magic;
		size_t		 at, n;
	} known[] = {
		{ "7z\xbc\xaf\x27\x1c", 0, 6 }, { "Rar!\x1a\x07", 0, 6 }, { "MSCF", 0, 4 }, { "xar!", 0, 4 },
		{ "-lh", 2, 3 }, { "-lz", 2, 3 }, { "-pm", 2, 3 }, { "MZ", 0, 2 }, { "\x7f" "ELF", 0, 4 },
		    { "CD001", ISO_AT, 5 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (n >= known[i].at + known[i].n && memcmp(p + known[i].at, known[i].magic, known[i].n) == 0)
			return true;
	return false;
}

/* Reads only the bytes that were read ahead. */
static int
read_ahead(void *ctx, void *p, size_t n, size_t *got)
{
	struct arc *a = ctx;

	*got = n < a->head - a->next ? n : a->head - a->next;
	memcpy(p, a->block + a->next, *got);
	a->next += *got;
	return 0;
}

/* Reads the bytes that were read ahead, then the rest. */
static int
read_all_in(void *ctx, void *p, size_t n, size_t *got)
{
	struct arc *a = ctx;

	return a->next < a->head ? read_ahead(a, p, n, got) : a->in.read(a->in.ctx, p, n, got);
}

/* Whether the archive, once decompressed, is a zip or needs a separate process, by the bytes that were read ahead. */
static void
detect_format(struct arc *a, bool *zip, bool *child)
{
	struct arc_local_opt opt = { .fd = -1, .in = { read_ahead, a }, .head = a->block, .n = a->head,
	    .kind = ARC_PACKED };
	uint8_t p[ISO_AT + 5];
	struct arc_local *h;
	const char *name;
	size_t got = 0;

	/* After an error, p holds the bytes before it. */
	if (arc_local_open(&opt, &h) == 0 && arc_local_next(h, &name) > 0)
		arc_local_read(h, p, sizeof(p), &got);
	arc_local_close(h);
	a->next = 0;
	*zip = got >= 2 && memcmp(p, "PK", 2) == 0;
	*child = needs_child_format(p, got);
}

/* Copies the input to a temporary file. */
static int
copy_to_file(struct arc *a)
{
	uint64_t sum = 0;

	ERR_TRY(io_temp(&a->fd));
	for (size_t n = a->head; n > 0;) {
		if ((sum += n) > COPIED)
			return err_fail(ERR_LIMIT, "an archive of more than %llu bytes that is not a file",
			    (unsigned long long)COPIED);
		ERR_TRY(io_write(a->fd, a->block, n));
		ERR_TRY(a->in.read(a->in.ctx, a->block, BLOCK, &n));
	}
	return 0;
}

/* A locale whose characters are UTF-8, or 0 if the system has none. */
static locale_t
open_utf8_locale(void)
{
	static const char *const known[] = { "C.UTF-8", "C.utf8", "", "en_US.UTF-8" };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		locale_t l = newlocale(LC_CTYPE_MASK, known[i], (locale_t)0);

		if (l != (locale_t)0 && strcmp(nl_langinfo_l(CODESET, l), "UTF-8") == 0)
			return l;
		if (l != (locale_t)0)
			freelocale(l);
	}
	return (locale_t)0;
}

static int
open_reader(struct arc *a, enum arc_kind kind)
{
	uint8_t head[HEAD] = { 0 };
	size_t n = a->head < sizeof(head) ? a->head : sizeof(head);
	struct arc_local_opt opt = { .fd = a->fd, .in = { read_all_in, a }, .head = head, .n = n, .kind = kind };
	bool zip = false, child = false;
	locale_t before;
	int e;

	memcpy(head, a->block, n);
	if (kind != ARC_PACKED)
		detect_format(a, &zip, &child);
	if (zip || child)
		a->utf8 = open_utf8_locale();
	if (child && a->fd < 0)
		ERR_TRY(copy_to_file(a));
	/* A child that is forked here keeps the locale. */
	before = uselocale(a->utf8);
	e = child ? arc_child_open(a->fd, head, n, kind, &a->child) : arc_local_open(&opt, &a->local);
	uselocale(before);
	return e;
}

static int
new_arc(struct arc **out)
{
	struct arc *a = malloc(sizeof(*a));

	*out = a;
	if (a == NULL)
		return err_nomem();
	memset(a, 0, offsetof(struct arc, block));
	a->fd = -1;
	return 0;
}

static int
finish_open(struct arc **a, int e)
{
	if (e < 0) {
		arc_close(*a);
		*a = NULL;
	}
	return e;
}

int
arc_open(const char *path, enum arc_kind kind, struct arc **out)
{
	int e = new_arc(out);

	if (e < 0)
		return e;
	if (((*out)->fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
		e = err_sys("open");
	else if ((e = io_read((*out)->fd, (*out)->block, BLOCK, &(*out)->head)) == 0)
		e = open_reader(*out, kind);
	return finish_open(out, e);
}

int
arc_open_in(struct arc_in in, enum arc_kind kind, struct arc **out)
{
	int e = new_arc(out);

	if (e < 0)
		return e;
	(*out)->in = in;
	if ((e = in.read(in.ctx, (*out)->block, BLOCK, &(*out)->head)) == 0)
		e = open_reader(*out, kind);
	return finish_open(out, e);
}

void
arc_close(struct arc *a)
{
	if (a == NULL)
		return;
	arc_local_close(a->local);
	arc_child_close(a->child);
	if (a->fd >= 0)
		close(a->fd);
	if (a->utf8 != (locale_t)0)
		freelocale(a->utf8);
	free(a);
}

bool
arc_is_packed(const struct arc *a)
{
	return a->child != NULL ? arc_child_is_packed(a->child) : arc_local_is_packed(a->local);
}

int
arc_next(struct arc *a, const char **name)
{
	locale_t before = uselocale(a->utf8);
	int e = a->child != NULL ? arc_child_next(a->child, name) : arc_local_next(a->local, name);

	uselocale(before);
	return e;
}

int
arc_read(struct arc *a, void *p, size_t n, size_t *got)
{
	locale_t before = uselocale(a->utf8);
	int e = a->child != NULL ? arc_child_read(a->child, p, n, got) : arc_local_read(a->local, p, n, got);

	uselocale(before);
	return e;
}
