/* autotune_cache_test - lines of chosen kernels, and the file of them: what was kept is found again, by others too; what is none is not. */
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
	{ "hello", ERR_FORMAT, "compute capability" },
	{ "\t9.0\t9.19.0\t12.8\tbf16\tdata n1\tany\t5", ERR_FORMAT, "device" },
	{ "bell\a\t9.0\t9.19.0\t12.8\tbf16\tdata n1\tany\t5", ERR_FORMAT, "device" },
	{ "x\t9.0\tnine\t12.8\tbf16\tdata n1\tany\t5", ERR_FORMAT, "cuDNN" },
	{ "x\t9.0\t9\t12.8\tf8\tdata n1\tany\t5", ERR_FORMAT, "precision" },
	{ "x\t9.0\t9\t12.8\tfloat32\tdata n1\tany\t5", ERR_FORMAT, "precision" },
	{ HEAD "sideways n1\tany\t5", ERR_FORMAT, "convolution" },
	{ HEAD "data n1\tsome\t5", ERR_FORMAT, "order" },
	{ KEY, ERR_FORMAT, "kernel" },
	{ KEY "\t", ERR_FORMAT, "kernel" },
	{ KEY "\t57 ", ERR_FORMAT, "kernel" },
	{ KEY "\t57 2", ERR_FORMAT, "kernel" },
	{ KEY "\t57 2=", ERR_FORMAT, "kernel" },
	{ KEY "\t57 2=-", ERR_FORMAT, "kernel" },
	{ KEY "\t57 2=1x", ERR_FORMAT, "kernel" },
	{ KEY "\t57\tmore", ERR_FORMAT, "8 cells" },
};

static void
parse(void)
{
	char key[ENGINE_KEY], name[ENGINE_CHOICE], again[2048];

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		int got = autotune_cache_parse(lines[i].line, key, name);

		if (!ok(got == lines[i].is && (lines[i].why == NULL || strstr(err_line(), lines[i].why) != NULL), "line %zu", i))
			printf("# %d: %s\n", got, err_line());
		if (got == 1) {
			snprintf(again, sizeof(again), "%s\t%s", key, name);
			is_str(again, lines[i].line, "... and is key and name again");
		}
	}
	memset(again, 'x', sizeof(again) - 1);
	again[sizeof(again) - 1] = 0;
	is(autotune_cache_parse(again, key, name), ERR_LIMIT, "a line that is too long");
	memcpy(again, KEY "\t", sizeof(KEY));
	memset(again + sizeof(KEY), '5', ENGINE_CHOICE);
	again[sizeof(KEY) + ENGINE_CHOICE] = 0;
	is(autotune_cache_parse(again, key, name), ERR_LIMIT, "a name that is too long");
}

static void
write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	fputs(text, f);
	fclose(f);
}

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
	uint32_t strange;

	is(autotune_cache_open(&a, path, &strange), 0, "a file that is not there");
	is(autotune_cache_open(&b, path, &strange), 0, "... is for two");
	ok(!autotune_cache_find(a, KEY, name) && access(path, F_OK) != 0, "... and has nothing in it");
	autotune_cache_keep(a, KEY, "57 2=1");
	autotune_cache_keep(b, HEAD "data n1\tany", "3");
	autotune_cache_keep(b, "no key", "3");
	ok(autotune_cache_find(a, KEY, name) && strcmp(name, "57 2=1") == 0, "what was kept is found");
	is(count(path, "\t57 2=1\n"), 1, "... and in the file, that the other wrote later");
	is(count(path, "no key"), 0, "... but not what would be no line of it");
	autotune_cache_keep(a, KEY, "58");
	ok(autotune_cache_find(a, KEY, name) && strcmp(name, "58") == 0, "another choice takes its place");
	ok(count(path, "\t57 2=1\n") == 0 && count(path, "\t58\n") == 1 && count(path, "data n1") == 1, "... alone, in the file too");
	is(autotune_cache_close(a), 0, "all was written");
	autotune_cache_close(b);
	write_file(path, "junk\n" KEY "\t1\n#\n\n" KEY "\t2\n" HEAD "data n1\tany\tx\n");
	is(autotune_cache_open(&a, path, &strange), 0, "a file with other lines");
	is(strange, 2, "... of which so many are strange");
	ok(autotune_cache_find(a, KEY, name) && strcmp(name, "1") == 0, "... the first of a key counts");
	write_file(path, "");
	for (uint32_t i = 0; i < 3; i++) {
		snprintf(key, sizeof(key), HEAD "data n%u\tany", i);
		autotune_cache_keep(a, key, "4");
	}
	is(count(path, "\t4\n"), 3, "a file that somebody emptied is filled again");
	autotune_cache_close(a);
}

/* A line more than are kept: the oldest goes. */
static void
full(const char *path)
{
	FILE *f = fopen(path, "w");
	char name[ENGINE_CHOICE];
	struct autotune_cache *c;
	uint32_t strange;

	for (uint32_t i = 0; i < AUTOTUNE_CACHE_MOST; i++)
		fprintf(f, HEAD "data n%u\tany\t4\n", i);
	fclose(f);
	is(autotune_cache_open(&c, path, &strange), 0, "as many as are kept");
	autotune_cache_keep(c, KEY, "5");
	ok(autotune_cache_find(c, KEY, name) &&
	       !autotune_cache_find(c, HEAD "data n0\tany", name) &&
	       autotune_cache_find(c, HEAD "data n1\tany", name),
	   "... and one more: the oldest goes");
	is(count(path, HEAD), AUTOTUNE_CACHE_MOST, "... from the file too");
	autotune_cache_close(c);
	is(truncate(path, (off_t)AUTOTUNE_CACHE_BYTES + 1), 0, "a file that is too large");
	is(autotune_cache_open(&c, path, &strange), ERR_LIMIT, "... is not read");
	unlink(path);
}

/* Processes that write at the same time lose nothing of each other. */
static void
crowd(const char *path)
{
	char key[ENGINE_KEY];
	struct autotune_cache *c;
	uint32_t strange;

	for (uint32_t k = 0; k < 3; k++) {
		if (fork() > 0)
			continue;
		if (autotune_cache_open(&c, path, &strange) < 0)
			_exit(1);
		for (uint32_t i = 0; i < 5; i++) {
			snprintf(key, sizeof(key), HEAD "data n%u\tany", 10 * k + i);
			autotune_cache_keep(c, key, "4");
		}
		_exit(autotune_cache_close(c) < 0);
	}
	for (int k = 0; k < 3; k++) {
		int status;

		ok(wait(&status) > 0 && status == 0, "a process of three");
	}
	is(count(path, "\t4\n"), 15, "... and the file has what all of them kept");
}

static void
refused(const char *folder)
{
	char path[256], name[ENGINE_CHOICE];
	struct autotune_cache *c;
	uint32_t strange;

	snprintf(path, sizeof(path), "%s/none/file", folder);
	is(autotune_cache_open(&c, path, &strange), 0, "a folder that is not there");
	autotune_cache_keep(c, KEY, "5");
	ok(autotune_cache_find(c, KEY, name) && strcmp(name, "5") == 0, "... is no hindrance to this run");
	is(autotune_cache_close(c), ERR_SYS, "... is told at the end");
	ok(strstr(err_line(), "none/file") != NULL, "... by name: %s", err_line());
	is(autotune_cache_open(&c, folder, &strange), ERR_SYS, "a folder is no file");
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
