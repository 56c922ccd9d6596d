/* plog - logs in, tables and figures out.  See plog(1). */
#include "front.h"

#include "base/err.h"
#include "run/curve.h"
#include "run/plot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE	65536	/* bytes that are read as one line at most */

static const char usage[] = "plog [-r] [--png file.png] [log ...]";
static const char help[] =
    "  --png FILE.png   draw accuracy and loss by epoch\n"
    "  -r, --ranks      a row for each rank, not the mean of all\n"
    "  --help           this\n"
    "  --version        the version\n"
    "Without a log, or where it is -, standard input is read.\n";

enum { O_HELP = 256, O_PNG, O_VERSION };

static const struct option longs[] = {
	{ "help", no_argument, NULL, O_HELP },
	{ "png", required_argument, NULL, O_PNG },
	{ "ranks", no_argument, NULL, 'r' },
	{ "version", no_argument, NULL, O_VERSION },
	{ NULL, 0, NULL, 0 }
};

/* A row that is broken costs a warning: the file's first one with its place, the rest as a count. */
static void
take(struct curve *c, const char *path)
{
	FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
	size_t before = c->n;
	unsigned long long at = 0, bad = 0;
	char line[LINE];
	int e;

	if (f == NULL) {
		err_note(errno, "open");
		front_die(path, ERR_SYS);
	}
	while (fgets(line, sizeof(line), f) != NULL) {
		at++;
		e = curve_take(c, line);
		if (e == ERR_NOMEM || (e == ERR_LIMIT && c->n == CURVE_MOST))
			front_die(path, e);
		if (e < 0 && bad++ == 0) {
			err_within("line %llu", at);
			front_warn(path, e);
		}
	}
	if (ferror(f)) {
		err_note(errno, "read");
		front_die(path, ERR_SYS);
	}
	if (f != stdin)
		fclose(f);
	if (bad > 1)
		front_say("%s: %llu rows are broken", path, bad);
	if (c->n == before) {
		err_note(0, "no measurements in it");
		front_warn(path, ERR_FORMAT);
	}
}

int
main(int argc, char *argv[])
{
	char dash[] = "-", *in[] = { dash, NULL };
	struct curve_rows rows, drawn;
	struct curve curve = { 0 };
	struct buf table = { 0 };
	const char *png = NULL;
	bool by_rank = false;
	int c, e;

	front_init(argv[0], usage, help);
	while ((c = getopt_long(argc, argv, "r", longs, NULL)) != -1)
		switch (c) {
		case 'r':	by_rank = true; break;
		case O_PNG:	png = optarg; break;
		case O_HELP:	front_help();
		case O_VERSION:	printf("plog (tally) %s\n", TALLY_VERSION); front_flush(); return 0;
		default:	front_usage();
		}
	argv += optind;
	for (char **log = *argv != NULL ? argv : in; *log != NULL; log++)
		take(&curve, *log);

	if ((e = curve_rows(&curve, by_rank, &rows)) < 0 || (e = curve_table(&rows, by_rank, &table)) < 0)
		front_die(NULL, e);
	if (table.n > 0)
		fwrite(table.p, 1, table.n, stdout);
	front_flush();
	if (png != NULL && rows.n > 0) {
		if ((e = curve_rows(&curve, false, &drawn)) < 0 || (e = plot_png(&drawn, png)) < 0)
			front_die(png, e);
		curve_rows_free(&drawn);
	}
	curve_rows_free(&rows);
	curve_free(&curve);
	buf_free(&table);
	return front_status();
}
