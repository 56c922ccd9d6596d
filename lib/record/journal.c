/* journal - the result of each source item of a packing run, so that an interrupted run can resume. */
#include "record/journal.h"
#include "base/err.h"
#include "base/num.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define FIRST	"tally-pack 1"

struct journal {
	FILE		*file;
	char		*line;
	size_t		 cap;
	uint64_t	 at;
};

int
journal_put_head(struct buf *text, uint64_t command)
{
	return buf_put_fmt(text, FIRST "\t%016" PRIx64 "\n", command);
}

int
journal_put(struct buf *text, const struct journal_item *it)
{
	static const char *const blank = "";
	char line[96];	/* four numbers, formatted at once: tens of thousands of lines are written per second */
	size_t from;

	if (it->packed)
		return buf_put(text, line, (size_t)snprintf(line, sizeof(line),
		    "r\t%016" PRIx64 "\t%" PRIu64 "\t%" PRIu64
		    "\t%016" PRIx64 "\n", it->place, it->id, it->bytes, it->sum));
	ERR_TRY(buf_put_fmt(text, "x\t%016" PRIx64 "\t", it->place));
	for (int i = 0; i < 2; i++) {
		const char *word = i == 0 ? it->name : it->reason;

		from = text->n;
		ERR_TRY(buf_put_fmt(text, "%s", word != NULL ? word : blank));
		for (; from < text->n; from++)
			if (text->p[from] < ' ')
				text->p[from] = '?';
		ERR_TRY(buf_put(text, i == 0 ? "\t" : "\n", 1));
	}
	return 0;
}

/* Reads a line.  Returns 1, or 0 at the end or if the line is incomplete. */
static int
get_line(struct journal *j, size_t *n)
{
	ssize_t got;

	errno = 0;
	if ((got = getline(&j->line, &j->cap, j->file)) < 0) {
		if (errno == ENOMEM)
			return err_nomem();
		return ferror(j->file) ? err_sys("read") : 0;
	}
	*n = (size_t)got;
	if (j->line[got - 1] != '\n' || strlen(j->line) != *n)
		return 0;
	j->line[got - 1] = 0;
	return 1;
}

/* The next field of a line, or NULL. */
static char *
next_field(char **rest)
{
	return strsep(rest, "\t");
}

static bool
parse_hex_field(char **rest, uint64_t *v)
{
	char *text = next_field(rest);

	return text != NULL && num_hex64(text, v) == 0;
}

static bool
parse_number_field(char **rest, uint64_t *v)
{
	char *text = next_field(rest);

	return text != NULL && num_u64(text, 0, UINT64_MAX, v) == 0;
}

static bool
parse_journal_line(char *line, struct journal_item *it)
{
	char *rest = line, *kind = next_field(&rest);

	*it = (struct journal_item){ .packed = strcmp(kind, "r") == 0 };
	if ((!it->packed && strcmp(kind, "x") != 0) || !parse_hex_field(&rest, &it->place))
		return false;
	if (it->packed)
		return parse_number_field(&rest, &it->id) && parse_number_field(&rest, &it->bytes) &&
		    parse_hex_field(&rest, &it->sum) && rest == NULL;
	it->name = next_field(&rest);
	it->reason = next_field(&rest);
	return it->reason != NULL && rest == NULL;
}

int
journal_open(const char *path, uint64_t *command, struct journal **out)
{
	struct journal *j = calloc(1, sizeof(*j));
	char *rest, *first;
	size_t n;
	int e;

	*out = NULL;
	if (j == NULL)
		return err_nomem();
	if ((j->file = fopen(path, "re")) == NULL) {
		e = err_sys("open");
		free(j);
		return e;
	}
	if ((e = get_line(j, &n)) > 0) {
		rest = j->line;
		first = next_field(&rest);
		if (strcmp(first, FIRST) != 0 || !parse_hex_field(&rest, command) || rest != NULL)
			e = 0;
	}
	if (e <= 0) {
		journal_close(j);
		return e < 0 ? e : err_fail(ERR_FORMAT, "is not a journal");
	}
	j->at = n;
	*out = j;
	return 0;
}

void
journal_close(struct journal *j)
{
	if (j == NULL)
		return;
	fclose(j->file);
	free(j->line);
	free(j);
}

int
journal_next(struct journal *j, struct journal_item *it)
{
	size_t n;
	int e = get_line(j, &n);

	if (e <= 0)
		return e;
	if (!parse_journal_line(j->line, it))
		return 0;
	j->at += n;
	return 1;
}

uint64_t
journal_at(const struct journal *j)
{
	return j->at;
}
