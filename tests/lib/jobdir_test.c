/* jobdir_test - does jobdir keep its header's word? */
#include "tap.h"

#include "base/err.h"
#include "run/jobdir.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char *argv[] = { (char[]){ "dlaunch" }, (char[]){ "a b" }, (char[]){ "" }, NULL };

static void
test_life(void)
{
	struct jobdir d, other;
	struct jobdir_state s;
	struct words back = { 0 };
	char *cwd;

	is(jobdir_make(&d, NULL, argv, "/some where"), 0, "a job without a name");
	is_str(d.name, "1", "is the first");
	is(jobdir_open(&other, "1"), 0, "another process opens it");
	is(jobdir_look(&other, &s), 0, "and looks");
	ok(s.running && s.pid == getpid() && s.status == -1 && s.since > 0, "it runs");
	is(jobdir_lock(&other), ERR_ARG, "it is not locked twice");
	is_str(err_line(), "job 1 runs", "which is told");
	is(jobdir_end(&d, 75), 0, "it ends");
	jobdir_look(&other, &s);
	ok(s.running && s.status == -1, "but runs as long as its launcher lives");
	jobdir_close(&d);
	jobdir_look(&other, &s);
	ok(!s.running && s.status == 75, "then its status is known");
	is(jobdir_command(&other, &back, &cwd), 0, "its command");
	ok(back.n == 3 && strcmp(back.v[1], "a b") == 0 && strcmp(back.v[2], "") == 0, "has all of its words");
	is_str(cwd, "/some where", "and its place");
	free(cwd);
	words_free(&back);
	is(jobdir_lock(&other), 0, "it is started again");
	jobdir_look(&other, &s);
	ok(s.running && s.status == -1, "and has no status");
	jobdir_close(&other);
	jobdir_open(&other, "1");
	jobdir_look(&other, &s);
	ok(!s.running && s.status == -1, "who ended without a word is lost");
	jobdir_close(&other);
}

static void
test_record(void)
{
	struct buf b = { 0 };
	struct jobdir_state s;
	struct jobdir d;

	jobdir_make(&d, "kept", argv, "/");
	is(jobdir_put(&d, "record", "first", 5), 0, "a record");
	is(jobdir_put(&d, "record", "second", 6), 0, "takes another's place");
	jobdir_close(&d);
	jobdir_open(&d, "kept");
	jobdir_look(&d, &s);
	ok(!s.running && s.kept && s.status == -1, "a job whose launcher was lost is kept");
	is(jobdir_lock(&d), ERR_ARG, "is not run again");
	is_str(err_line(), "job kept may go on at its hosts: attach to it, or stop it", "which is told");
	is(jobdir_retake(&d), 0, "but taken over");
	is(jobdir_get(&d, "record", 6, &b), 0, "the record");
	is_str((char *)b.p, "second", "is the last one");
	b.n = 0;
	is(jobdir_get(&d, "record", 5, &b), ERR_LIMIT, "unless it is too long");
	is(jobdir_cut(&d, "record", 9), 0, "a file that is short enough");
	is(jobdir_cut(&d, "record", 3), 0, "or that is not");
	b.n = 0;
	jobdir_get(&d, "record", 6, &b);
	is_str((char *)b.p, "sec", "is cut");
	is(jobdir_end(&d, 0), 0, "it ends");
	jobdir_close(&d);
	jobdir_open(&d, "kept");
	jobdir_look(&d, &s);
	ok(!s.kept && s.status == 0, "and is kept no more");
	is(jobdir_retake(&d), ERR_ARG, "nor taken over");
	jobdir_close(&d);
	buf_free(&b);
}

/* The lock is the launcher's, who is forked. */
static void
test_fork(void)
{
	int to_child[2], to_parent[2], code;
	struct jobdir d, other;
	struct jobdir_state s;
	char c = 0;
	pid_t pid;

	if (pipe(to_child) < 0 || pipe(to_parent) < 0 || jobdir_make(&d, "forked", argv, "/") < 0)
		return;
	if ((pid = fork()) == 0)
		_exit(jobdir_mine(&d) < 0 || write(to_parent[1], "x", 1) != 1 || read(to_child[0], &c, 1) != 1);
	jobdir_close(&d);
	ok(read(to_parent[0], &c, 1) == 1, "a launcher that was forked");
	jobdir_open(&other, "forked");
	jobdir_look(&other, &s);
	ok(s.running && s.pid == pid, "is the one that runs");
	ok(write(to_child[1], "x", 1) == 1 && waitpid(pid, &code, 0) == pid && code == 0, "and ends");
	jobdir_look(&other, &s);
	ok(!s.running, "then it runs no more");
	jobdir_close(&other);
}

static void
test_names(void)
{
	static const char *const bad[] = { "", ".", "..", "a/b", "-x", "a b", "\xc3\xa9" };
	struct words all = { 0 };
	struct jobdir d;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		is(jobdir_make(&d, bad[i], argv, "/"), ERR_ARG, "'%s' is no name", bad[i]);
	is(jobdir_open(&d, "nothing"), ERR_ARG, "a job that is not there");
	is_str(err_line(), "there is no job 'nothing'", "is named");
	for (int i = 0; i < 10; i++) {
		is(jobdir_make(&d, NULL, argv, "/"), 0, "a job");
		jobdir_close(&d);
	}
	is_str(d.name, "11", "numbers count on");
	is(jobdir_make(&d, "a.b-c_9", argv, "/"), 0, "a name");
	jobdir_close(&d);
	is(jobdir_all(&all), 0, "all jobs");
	ok(all.n == 14 && strcmp(all.v[1], "2") == 0 && strcmp(all.v[10], "11") == 0 && strcmp(all.v[11], "a.b-c_9") == 0,
	    "numbers by their value, then names");
	words_free(&all);
	unsetenv("XDG_STATE_HOME");
	unsetenv("HOME");
	is(jobdir_make(&d, NULL, argv, "/"), ERR_ARG, "without a place for them there are no jobs");
}

int
main(void)
{
	static char dir[] = "/tmp/tally.XXXXXX";
	char clean[64];

	if (mkdtemp(dir) == NULL)
		return 1;
	setenv("XDG_STATE_HOME", dir, 1);
	test_life();
	test_record();
	test_fork();
	test_names();
	snprintf(clean, sizeof(clean), "rm -rf %s", dir);
	return system(clean) != 0 || done();
}
