/* told - all that a source gives, as text; archives and pipes for it to read. */
#ifndef TESTS_LIB_TOLD_H
#define TESTS_LIB_TOLD_H

#include "base/err.h"
#include "source/source.h"
#include "pics.h"
#include "tap.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdarg.h>
#include <sys/stat.h>

/* Runs a shell command in the test's directory. */
__attribute__((format(printf, 1, 2), unused)) static void
sh(const char *fmt, ...)
{
	char cmd[1024];
	va_list ap;
	int n = snprintf(cmd, sizeof(cmd), "cd '%s' && ", pics_path("") != NULL ? pics_dir : "");

	va_start(ap, fmt);
	vsnprintf(cmd + n, sizeof(cmd) - (size_t)n, fmt, ap);
	va_end(ap);
	if (system(cmd) != 0)
		ok(0, "%s", cmd);
}

/* A line for each image,
    "id label... name" or "id ! name", without the directory; then the classes.  With bytes, those of small images. */
static struct buf told_text;
static bool told_bytes;

static void
told_add(const char *text)
{
	size_t dir = strlen(pics_dir) + 1;

	for (const char *p; (p = strstr(text, pics_dir)) != NULL; text = p + dir)
		buf_put(&told_text, text, (size_t)(p - text));
	buf_put(&told_text, text, strlen(text));
}

static void
told_item(const struct source_item *it, int e)
{
	buf_put_fmt(&told_text, "%llu ", (unsigned long long)it->id);
	for (uint32_t i = 0; e > 0 && i < it->labels; i++)
		buf_put_fmt(&told_text, "%g ", (double)it->label[i]);
	if (e < 0)
		buf_put_fmt(&told_text, "! ");
	told_add(it->name);
	if (e < 0 && told_bytes) {
		buf_put_fmt(&told_text, " ! ");
		told_add(err_line());
	} else if (told_bytes) {
		buf_put_fmt(&told_text, it->later ? " later" : " = %.*s", (int)it->n, (const char *)it->data);
	}
	buf_put_fmt(&told_text, "\n");
}

/* Lent until the next call. */
static const char *
told(const struct source_opt *opt)
{
	struct source_item it;
	struct source *s;
	int e;

	told_text.n = 0;
	if ((e = source_open(opt, &s)) == 0) {
		while ((e = source_next(s, &it)) > 0 || source_is_item_error(e))
			told_item(&it, e);
	}
	if (e < 0) {
		buf_put_fmt(&told_text, "%d ", e);
		told_add(err_line());
	}
	for (size_t i = 0; s != NULL && i < source_classes(s)->n; i++)
		buf_put_fmt(&told_text, "%s,", source_classes(s)->p[i]);
	buf_terminate(&told_text);
	source_close(s);
	return (const char *)told_text.p;
}

/* Of a file of the test's directory. */
__attribute__((unused)) static const char *
told_of(struct source_opt *opt, const char *file)
{
	opt->path = pics_path(file);
	return told(opt);
}

/* An archive of files, name after name; each holds its own name's last component, unless the name is a file of the test. */
__attribute__((unused)) static void
told_pack(const char *path, const char *format, const char *filter, const char *const *names)
{
	struct archive *a = archive_write_new();
	struct buf b = { 0 };
	int r = archive_write_set_format_by_name(a, format);

	/* A byte of it is one of its data's, then. */
	if (r == ARCHIVE_OK && strcmp(format, "zip") == 0)
		r = archive_write_zip_set_compression_store(a);
	if (r == ARCHIVE_OK && filter != NULL)
		r = archive_write_add_filter_by_name(a, filter);
	if (r == ARCHIVE_OK)
		r = archive_write_open_filename(a, pics_path(path));
	for (; r == ARCHIVE_OK && *names != NULL; names++) {
		struct archive_entry *entry = archive_entry_new();
		const char *slash = strrchr(*names, '/'), *base = slash != NULL ? slash + 1 : *names;

		b.n = 0;
		if (io_slurp(pics_path(*names), 1u << 24, &b) < 0)
			buf_put(&b, base, strlen(base));
		archive_entry_set_pathname(entry, *names);
		archive_entry_set_filetype(entry, AE_IFREG);
		archive_entry_set_perm(entry, 0644);
		archive_entry_set_size(entry, (la_int64_t)b.n);
		r = archive_write_header(a, entry);
		if (r == ARCHIVE_OK && archive_write_data(a, b.p, b.n) != (la_ssize_t)b.n)
			r = ARCHIVE_FATAL;
		archive_entry_free(entry);
	}
	if (archive_write_close(a) != ARCHIVE_OK || r != ARCHIVE_OK)
		ok(0, "%s is written: %s", path, archive_error_string(a));
	archive_write_free(a);
	buf_free(&b);
}

/* A pipe's name that gives the file's bytes once. */
__attribute__((unused)) static const char *
told_pipe(const char *file)
{
	sh("rm -f pipe && mkfifo pipe && { timeout 10 sh -c 'cat \"$1\" >pipe' sh '%s' >/dev/null 2>&1 & }", file);
	return pics_path("pipe");
}

#endif
