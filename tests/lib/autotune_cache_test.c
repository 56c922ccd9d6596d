/* autotune_cache_test - lines of the file, choices that several processes keep and find, and files that are damaged. */
#include "tap.h"

#include "base/err.h"
#include "engine/autotune_cache.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEAD "NVIDIA H200\t9.0\t9.19.0\t12.8\tbf16\t"
#define KEY HEAD "forward n64 c3 h28 w28\tfixed"

static const struct {
	const char *line;
	int	 is;
	const char *why;
} lines[] = {
	{ KEY "\t57", 1, NULL },
	{ KEY "\t57 2=1 10=-3", 1, NULL },
	{ "", 0, NULL },
	{ "# a comment\twith cells", 0, NULL },
	{ "hello", ERR_FORMAT, "cell 2, compute capability" },
	{ "\t9.0\t9.19.0\t12.8\tbf16\tdata n1\tany\t5", ERR_FORMAT, "cell 1, device" },
	{ "bell\a\t9.0\t9.19.0\t12.8\tbf16\tdata n1\tany\t5", ERR_FORMAT, "cell 1, device" },
	{ KEY, ERR_FORMAT, "cell 8, kernel" },
	{ KEY "\t", ERR_FORMAT, "cell 8, kernel" },
	{ KEY "\t57\tmore", ERR_FORMAT, "8 cells" },
};

static void
parse(void)
{
	char key[ENGINE_KEY], name[ENGINE_CHOICE], again[2048];

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		int got = autotune_cache_parse(lines[i].line, key, name);

		if (!ok(got == lines[i].is && (lines[i].why == NULL || strstr(err_line(), lines[i].why) != NULL),
			"autotune_cache_parse returns %d for line %zu", lines[i].is, i))
			printf("# %d: %s\n", got, err_line());
		if (got == 1) {
			snprintf(again, sizeof(again), "%s\t%s", key, name);
			is_str(again, lines[i].line, "key and name are the line again");
		}
	}
	memset(again, 'x', sizeof(again) - 1);
	again[sizeof(again) - 1] = 0;
	is(autotune_cache_parse(again, key, name), ERR_LIMIT, "autotune_cache_parse refuses a long line");
	memcpy(again, KEY "\t", sizeof(KEY));
	memset(again + sizeof(KEY), '5', ENGINE_CHOICE);
	again[sizeof(KEY) + ENGINE_CHOICE] = 0;
	is(autotune_cache_parse(again, key, name), ERR_LIMIT, "autotune_cache_parse refuses a long name");
}

static void
write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	fputs(text, f);
	fclose(f);
}

/* Lines that contain `what`. */
static uint32_t
count(const char *path, const char *what)
{
	uint32_t n = 0;
	char line[2048];
	FILE *f = fopen(path, "r");

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		n += strstr(line, what) != NULL;
	if (f != NULL)
		fclose(f);
	return n;
}

static void
file(const char *path)
{
	struct autotune_cache *a, *b;
	char name[ENGINE_CHOICE], key[ENGINE_KEY];
	uint32_t ignored;

	is(autotune_cache_open(path, &ignored, &a), 0, "a missing file opens");
	is(autotune_cache_open(path, &ignored, &b), 0, "a second process opens it too");
	ok(!autotune_cache_find(a, KEY, name) && access(path, F_OK) != 0, "an empty cache finds nothing and makes no file");
	autotune_cache_keep(a, KEY, "57 2=1");
	autotune_cache_keep(b, HEAD "data n1\tany", "3");
	autotune_cache_keep(b, "no key", "3");
	ok(autotune_cache_find(a, KEY, name) && strcmp(name, "57 2=1") == 0, "a kept choice is found");
	is(count(path, "\t57 2=1\n"), 1, "the other process's write keeps it in the file");
	is(count(path, "no key"), 0, "a key that is not a line's is not kept");
	autotune_cache_keep(a, KEY, "58");
	ok(autotune_cache_find(a, KEY, name) && strcmp(name, "58") == 0, "a new choice replaces the old one");
	ok(count(path, "\t57 2=1\n") == 0 && count(path, "\t58\n") == 1 && count(path, "data n1") == 1,
	    "the file has the new choice, and the others");
	is(autotune_cache_close(a), 0, "autotune_cache_close reports no error");
	autotune_cache_close(b);
	write_file(path, "junk\n" KEY "\t1\n#\n\n" KEY "\t2\n" HEAD "data n1\tany\n");
	is(autotune_cache_open(path, &ignored, &a), 0, "a file with bad lines opens");
	is(ignored, 2, "two lines are ignored");
	ok(autotune_cache_find(a, KEY, name) && strcmp(name, "1") == 0, "the first line of a key counts");
	write_file(path, "");
	for (uint32_t i = 0; i < 3; i++) {
		snprintf(key, sizeof(key), HEAD "data n%u\tany", i);
		autotune_cache_keep(a, key, "4");
	}
	is(count(path, "\t4\n"), 3, "an emptied file is filled again");
	autotune_cache_close(a);
}

/* A choice above the limit replaces the oldest. */
static void
full(const char *path)
{
	FILE *f = fopen(path, "w");
	char name[ENGINE_CHOICE];
	struct autotune_cache *c;
	uint32_t ignored;

	for (uint32_t i = 0; i < AUTOTUNE_CACHE_MOST; i++)
		fprintf(f, HEAD "data n%u\tany\t4\n", i);
	fclose(f);
	is(autotune_cache_open(path, &ignored, &c), 0, "a full file opens");
	autotune_cache_keep(c, KEY, "5");
	ok(autotune_cache_find(c, KEY, name) &&
	       !autotune_cache_find(c, HEAD "data n0\tany", name) &&
	       autotune_cache_find(c, HEAD "data n1\tany", name),
	   "one choice more removes the oldest");
	is(count(path, HEAD), AUTOTUNE_CACHE_MOST, "the file has no more than the limit");
	autotune_cache_close(c);
	is(truncate(path, (off_t)AUTOTUNE_CACHE_BYTES + 1), 0, "the file grows above the limit");
	is(autotune_cache_open(path, &ignored, &c), ERR_LIMIT, "autotune_cache_open refuses it");
	unlink(path);
}

/* Processes that write at the same time keep each other's choices. */
static void
crowd(const char *path)
{
	char key[ENGINE_KEY];
	struct autotune_cache *c;
	uint32_t ignored;

	for (uint32_t k = 0; k < 3; k++) {
		if (fork() > 0)
			continue;
		if (autotune_cache_open(path, &ignored, &c) < 0)
			_exit(1);
		for (uint32_t i = 0; i < 5; i++) {
			snprintf(key, sizeof(key), HEAD "data n%u\tany", 10 * k + i);
			autotune_cache_keep(c, key, "4");
		}
		_exit(autotune_cache_close(c) < 0);
	}
	for (int k = 0; k < 3; k++) {
		int status;

		ok(wait(&status) > 0 && status == 0, "a process of three ends without an error");
	}
	is(count(path, "\t4\n"), 15, "the file has the choices of all three");
}

static void
refused(const char *folder)
{
	char path[256], name[ENGINE_CHOICE];
	struct autotune_cache *c;
	uint32_t ignored;

	snprintf(path, sizeof(path), "%s/none/file", folder);
	is(autotune_cache_open(path, &ignored, &c), 0, "a file in a missing folder opens");
	autotune_cache_keep(c, KEY, "5");
	ok(autotune_cache_find(c, KEY, name) && strcmp(name, "5") == 0, "the choice is kept for this run");
	is(autotune_cache_close(c), ERR_SYS, "autotune_cache_close returns the error");
	ok(strstr(err_line(), "none/file") != NULL, "the error names the file: %s", err_line());
	is(autotune_cache_open(folder, &ignored, &c), ERR_SYS, "autotune_cache_open refuses a folder");
}

int
main(void)
{
	char folder[] = "/tmp/choice.XXXXXX", path[64], lock[80];

	if (mkdtemp(folder) == NULL)
		return 1;
	snprintf(path, sizeof(path), "%s/file", folder);
	snprintf(lock, sizeof(lock), "%s.lock", path);
	parse();
	file(path);
	full(path);
	crowd(path);
	refused(folder);
	unlink(path);
	unlink(lock);
	rmdir(folder);
	return done();
}
