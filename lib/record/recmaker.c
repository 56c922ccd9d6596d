/* recmaker - makes records of unpacked images: files, folders, archives or a stream. */
#include "record/recmaker.h"
#include "base/err.h"
#include "base/io.h"
#include "image/transcode.h"
#include "source/suffix.h"
#include "image/img.h"
#include "source/source.h"
#include "record/imrec.h"
#include "record/rec.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK	4096u				/* bytes that decide the kind of a stream */
#define STDIN	"standard input"		/* as in source.h */

struct recmaker {
	const char *const *path;
	size_t		 n, next;		/* the next path */
	FILE		*names;			/* list of more paths, one a line; or NULL */
	char		*line;
	size_t		 line_size;
	const char	*at;			/* the current path */
	bool		 classes;		/* the source is that of all paths, not of the current one */
	struct source	*source;
	struct names	 unknown;		/* errors of images without a class, each returned once */
	struct transcode *conv;
	struct buf	 data;			/* an image's bytes, as read */
	pthread_mutex_t	 lock;			/* protects the following members */
	struct buf	 text;			/* names, each with a zero at the end */
	struct buf	 starts;		/* size_t offsets of the names in text */
};

/*
 * Whether the bytes may start a list of names: a line without control characters that is not the start of an archive.
 * A line with bytes beyond ASCII must name an existing file, since images start with such bytes.
 */
static bool
is_names(const uint8_t *p, size_t n)
{
	static const char *const archive[] = { "BZh", "!<arch>", "WARC/" };
	bool ascii = true, is;
	size_t end = 0;
	char *line;

	for (size_t i = 0; i < sizeof(archive) / sizeof(*archive); i++)
		if (n >= strlen(archive[i]) && memcmp(p, archive[i], strlen(archive[i])) == 0)
			return false;
	for (; end < n && p[end] != '\n'; end++) {
		if ((p[end] < ' ' && p[end] != '\t' && p[end] != '\r') || p[end] == 0x7f)
			return false;
		ascii &= p[end] < 0x80;
	}
	if (ascii)
		return n > 0;
	while (end > 0 && p[end - 1] == '\r')
		end--;
	line = strndup((const char *)p, end);
	is = line != NULL && access(line, F_OK) == 0;
	free(line);
	return is;
}

enum recmaker_kind
recmaker_kind(const char *path)
{
	uint8_t head[LOOK];
	bool in = strcmp(path, "-") == 0;
	struct stat st;
	size_t n = 0;
	int fd;

	/* Opening a pipe would affect its writer. */
	if (!in && (stat(path, &st) < 0 || !S_ISREG(st.st_mode)))
		return RECMAKER_BYTES;
	if ((fd = in ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)) < 0)
		return RECMAKER_BYTES;
	if (io_peek(fd, head, sizeof(head), &n) < 0)
		n = 0;
	if (!in)
		close(fd);
	if (n >= 4 && le_get32(head) == REC_MAGIC)
		return RECMAKER_RECORDS;
	return in && is_names(head, n) ? RECMAKER_NAMES : RECMAKER_BYTES;
}

int
recmaker_open(const char *const *path, size_t n, bool classes, const char *class_names, struct recmaker **out)
{
	struct recmaker *p = calloc(1, sizeof(*p));
	struct source_opt so = { .path = path[0], .paths = path, .n_paths = n > 1 ? n : 0,
	    .class_names = class_names };
	int e;

	*out = NULL;
	if (p == NULL)
		return err_nomem();
	p->path = path;
	p->n = n;
	p->classes = classes;
	pthread_mutex_init(&p->lock, NULL);
	if ((e = transcode_new(&(struct transcode_opt){ 0 }, &p->conv)) == 0 && classes)
		e = source_open(&so, &p->source);
	if (e < 0) {
		recmaker_close(p);
		return e;
	}
	*out = p;
	return 0;
}

void
recmaker_close(struct recmaker *p)
{
	if (p == NULL)
		return;
	source_close(p->source);
	transcode_free(p->conv);
	free(p->line);
	names_free(&p->unknown);
	buf_free(&p->data);
	buf_free(&p->text);
	buf_free(&p->starts);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* Assigns the next id to an image. */
static int
note_name(struct recmaker *p, const char *name, uint64_t *id)
{
	size_t start;
	int e;

	pthread_mutex_lock(&p->lock);
	*id = p->starts.n / sizeof(start);
	start = p->text.n;
	if ((e = buf_put(&p->text, name, strlen(name) + 1)) == 0)
		e = buf_put(&p->starts, &start, sizeof(start));
	pthread_mutex_unlock(&p->lock);
	return e;
}

int
recmaker_name(struct recmaker *p, uint64_t id, struct buf *text)
{
	size_t start;
	int e;

	text->n = 0;
	pthread_mutex_lock(&p->lock);
	memcpy(&start, p->starts.p + id * sizeof(start), sizeof(start));
	e = buf_put(text, p->text.p + start, strlen((char *)p->text.p + start) + 1);
	pthread_mutex_unlock(&p->lock);
	return e;
}

/* Every error but a lack of memory is the image's. */
static int
blame_image(int e, const char *name)
{
	return e == ERR_NOMEM ? e : err_wrap(ERR_ITEM, "%s", name);
}

/* Makes the record of raw pixels, or if raw is NULL of the encoded image in p->data. */
static int
pack_image(struct recmaker *p, const char *name, const float *label, uint32_t labels, const struct img *raw,
    struct buf *room)
{
	const uint8_t *image;
	uint64_t id;
	size_t n;
	int e;

	e = raw != NULL ? transcode_raw(p->conv, raw, &image, &n) :
	    transcode_encoded(p->conv, p->data.p, p->data.n, &image, &n);
	if (e < 0)
		return blame_image(e, name);
	room->n = 0;
	ERR_TRY(note_name(p, name, &id));
	ERR_TRY(imrec_encode(room, id, label, labels, image, n));
	return 1;
}

/* The next item; of those without a class, whose errors are the same for a whole folder, the first with each error. */
static int
next_item(struct recmaker *p, struct source_item *it)
{
	const char *line;
	int e;

	while ((e = source_next(p->source, it)) == ERR_CLASS) {
		line = err_line();
		if (names_find(&p->unknown, line, strlen(line)) >= 0)
			continue;
		e = names_insert(&p->unknown, line, strlen(line));
		return e < 0 ? e : err_fail(ERR_CLASS, "%s; all such images are left out", line);
	}
	return e;
}

/* The name of an image.  Of standard input without classes it is the path within the archive, or "-". */
static const char *
name_item(const struct recmaker *p, const char *name)
{
	size_t n = strlen(STDIN ": ");

	if (p->classes || strcmp(p->at, "-") != 0)
		return name;
	return strcmp(name, STDIN) == 0 ? "-" : strncmp(name, STDIN ": ", n) == 0 ? name + n : name;
}

static int
next_of_source(struct recmaker *p, struct buf *room)
{
	struct source_item it;
	struct stamp stamp;
	struct img raw;
	int e = next_item(p, &it);

	it.name = name_item(p, it.name);
	if (source_is_item_error(e) && *it.name != 0)
		err_within("%s", it.name);
	if (e <= 0)
		return source_is_item_error(e) ? ERR_ITEM : e;
	raw = (struct img){ .p = it.data, .c = it.c, .h = it.h, .w = it.w };
	p->data.n = 0;
	if (it.later)
		e = source_read(p->source, it.name, &p->data, &stamp);
	else if (it.c == 0)
		e = buf_put(&p->data, it.data, it.n);
	if (e < 0)
		return blame_image(e, it.name);
	return pack_image(p, it.name, it.label, it.labels, it.c > 0 ? &raw : NULL, room);
}

/* The next path of the command line or of the names on standard input: returns 1, or 0 after the last. */
static int
next_path(struct recmaker *p)
{
	ssize_t n;

	while (p->names != NULL) {
		if ((n = getline(&p->line, &p->line_size, p->names)) < 0) {
			p->names = NULL;
			break;
		}
		while (n > 0 && (p->line[n - 1] == '\n' || p->line[n - 1] == '\r'))
			p->line[--n] = 0;
		p->at = strcmp(p->line, "-") == 0 ? "./-" : p->line;
		if (n > 0)
			return 1;
	}
	if (p->next == p->n)
		return 0;
	p->at = p->path[p->next++];
	if (strcmp(p->at, "-") != 0 || recmaker_kind("-") != RECMAKER_NAMES)
		return 1;
	p->names = stdin;
	return next_path(p);
}

/* A file with an image's suffix is not tried as an archive.  Opens the source of any other path and returns 0. */
static int
open_path(struct recmaker *p, struct buf *room)
{
	static const float none = -1;
	struct source_opt o = { .path = p->at, .classless = true };
	struct stat st;
	int e;

	if (suffix_is_image(p->at) && stat(p->at, &st) == 0 && S_ISREG(st.st_mode)) {
		p->data.n = 0;
		if ((e = io_slurp(p->at, IMG_BYTES, &p->data)) < 0)
			return blame_image(e, p->at);
		return pack_image(p, p->at, &none, 1, NULL, room);
	}
	if (p->names == NULL && source_is_half(p->at)) {
		o.paths = &p->path[p->next - 1];
		for (o.n_paths = 1; p->next < p->n && source_is_half(p->path[p->next]); p->next++)
			o.n_paths++;
	}
	e = source_open(&o, &p->source);
	return e < 0 && e != ERR_NOMEM ? ERR_ITEM : e;
}

/* The next image of the current path: returns 1, 0 after the last, or an error, after which the path may be over. */
static int
next_of_path(struct recmaker *p, struct buf *room)
{
	int e = next_of_source(p, room);

	if (e > 0 || e == ERR_ITEM || e == ERR_NOMEM)
		return e;
	source_close(p->source);
	p->source = NULL;
	return e < 0 ? ERR_ITEM : 0;
}

int
recmaker_next(struct recmaker *p, struct buf *room)
{
	int e = 0;

	if (p->classes)
		return next_of_source(p, room);
	while (e == 0) {
		if (p->source != NULL)
			e = next_of_path(p, room);
		else if ((e = next_path(p)) > 0)
			e = open_path(p, room);
		else
			return e;
	}
	return e;
}
