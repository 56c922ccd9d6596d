/* jobdir_test - tests jobdir against its header. */
#include "tap.h"

#include "base/err.h"
#include "run/jobdir.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
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

	is(jobdir_make(NULL, false, argv, "/some where", &d), 0, "a job without a name is made");
	is_str(d.name, "1", "the first job without a name gets number 1");
	is(jobdir_open("1", &other), 0, "the job can be opened again");
	is(jobdir_read_state(&other, &s), 0, "the state of a job can be read");
	ok(s.running && s.pid == getpid() && s.status == -1 && s.since > 0, "the job is running");
	is(jobdir_lock(&other), ERR_ARG, "a running job cannot be locked");
	is_str(err_line(), "job 1 is running", "the error says that it is running");
	is(jobdir_end(&d, 75), 0, "the job's end is written");
	jobdir_read_state(&other, &s);
	ok(s.running && s.status == -1, "the job runs as long as its launcher holds the lock");
	jobdir_close(&d);
	jobdir_read_state(&other, &s);
	ok(!s.running && s.status == 75, "the status is known once the lock is free");
	is(jobdir_command(&other, &back, &cwd), 0, "the command line is read");
	ok(back.n == 3 && strcmp(back.v[1], "a b") == 0 && strcmp(back.v[2], "") == 0,
	    "the command line has all words");
	is_str(cwd, "/some where", "the directory is kept");
	free(cwd);
	words_free(&back);
	is(jobdir_lock(&other), 0, "an ended job can be locked again");
	jobdir_close(&other);
	jobdir_open("1", &other);
	jobdir_read_state(&other, &s);
	ok(!s.running && s.status >= 0, "the status of the last run is kept until another begins");
	is(jobdir_lock(&other) + jobdir_begin(&other), 0, "another run begins");
	jobdir_read_state(&other, &s);
	ok(s.running && s.status == -1, "a job that runs again has no status");
	jobdir_close(&other);
	jobdir_open("1", &other);
	jobdir_read_state(&other, &s);
	ok(!s.running && s.status == -1, "a job that ended without a status is lost");
	jobdir_close(&other);
}

static void
test_record(void)
{
	struct buf b = { 0 };
	struct jobdir_state s;
	struct jobdir d;

	jobdir_make("kept", false, argv, "/", &d);
	is(jobdir_put(&d, "record", "first", 5), 0, "a record is written");
	is(jobdir_put(&d, "record", "second", 6), 0, "a second record replaces the first");
	jobdir_close(&d);
	jobdir_open("kept", &d);
	jobdir_read_state(&d, &s);
	ok(!s.running && s.has_record && s.status == -1, "a job whose launcher was lost has a record");
	is(jobdir_lock(&d), ERR_ARG, "a job with a record cannot be run again");
	is_str(err_line(), "job kept may still run on its hosts; attach to it or stop it",
	    "the error says what to do");
	is(jobdir_take_over(&d), 0, "a job with a record can be taken over");
	is(jobdir_get(&d, "record", 6, &b), 0, "the record is read");
	is_str((char *)b.p, "second", "the record is the last one written");
	b.n = 0;
	is(jobdir_get(&d, "record", 5, &b), ERR_LIMIT, "a record that is too long is refused");
	is(jobdir_cut(&d, "record", 9), 0, "a file that is short enough is left alone");
	is(jobdir_cut(&d, "record", 3), 0, "a longer file is truncated");
	b.n = 0;
	jobdir_get(&d, "record", 6, &b);
	is_str((char *)b.p, "sec", "the file has its first bytes");
	is(jobdir_end(&d, 0), 0, "the end is written");
	jobdir_close(&d);
	jobdir_open("kept", &d);
	jobdir_read_state(&d, &s);
	ok(!s.has_record && s.status == 0, "a job that has ended has no record");
	is(jobdir_take_over(&d), ERR_ARG, "a job that has ended cannot be taken over");
	jobdir_close(&d);
	buf_free(&b);
}

static void
test_names_in_use(void)
{
	struct jobdir d, other;
	struct buf b = { 0 };

	jobdir_make("used", false, argv, "/", &d);
	jobdir_put(&d, "out", "old", 3);
	is(jobdir_make("used", true, argv, "/", &other), ERR_ARG, "a running job is not replaced");
	is_str(err_line(), "job used is running", "the error says that the job to replace runs");
	jobdir_open("used", &other);
	is(jobdir_remove(&other), ERR_ARG, "a running job is not removed");
	jobdir_end(&d, 3);
	jobdir_close(&d);
	is(jobdir_make("used", false, argv, "/", &d), ERR_ARG, "an ended job's name is in use");
	is(jobdir_make("used", true, argv, "/", &d), 0, "an ended job is replaced");
	is(jobdir_get(&d, "out", 9, &b), ERR_ARG, "a replaced job's output is removed");
	jobdir_put(&d, "record", "x", 1);
	jobdir_close(&d);
	jobdir_open("used", &d);
	is(jobdir_remove(&d), ERR_ARG, "a job with a record is not removed");
	jobdir_open("used", &d);
	jobdir_take_over(&d);
	jobdir_end(&d, 0);
	is(jobdir_remove(&d), 0, "an ended job is removed, by the owner of its lock");
	is(jobdir_open("used", &d), ERR_ARG, "a removed job is missing");
	buf_free(&b);
}

/* Lets files grow to this many bytes, as a full disk does. */
static void
limit_files(rlim_t bytes)
{
	struct rlimit most;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &most);
	most.rlim_cur = bytes;
	setrlimit(RLIMIT_FSIZE, &most);
}

static bool
has_file(const struct jobdir *d, const char *file)
{
	return faccessat(d->dir, file, F_OK, 0) == 0;
}

static void
test_full_disk(void)
{
	struct jobdir d, other;
	struct jobdir_state s;
	struct words back = { 0 };
	struct buf b = { 0 };
	int e, end, replaced;
	char *cwd;

	jobdir_make("full", false, argv, "/", &d);
	jobdir_put(&d, "out", "said", 4);
	jobdir_put(&d, "record", "first", 5);
	limit_files(3);
	e = jobdir_put(&d, "record", "second", 6);
	limit_files(RLIM_INFINITY);
	is(e, ERR_SYS, "a record is not replaced on a full disk");
	is(jobdir_get(&d, "record", 9, &b), 0, "the record is still there");
	is_str((char *)b.p, "first", "the old record stays whole");
	ok(!has_file(&d, "record.new"), "nothing is left of the new one");
	limit_files(0);
	end = jobdir_end(&d, 75);
	replaced = jobdir_make("full", true, argv, "/", &other);
	limit_files(RLIM_INFINITY);
	is(end, ERR_SYS, "the end of a job is not written on a full disk");
	is(replaced, ERR_ARG, "a job that runs is not replaced");
	jobdir_close(&d);
	jobdir_open("full", &d);
	jobdir_read_state(&d, &s);
	ok(s.status == -1 && !s.has_record, "a job whose end was not written is lost");
	jobdir_close(&d);
	limit_files(1);
	is(jobdir_make("never", false, argv, "/", &other), ERR_SYS, "a job that cannot be written is not made");
	limit_files(RLIM_INFINITY);
	is(jobdir_open("never", &other), ERR_ARG, "nothing is left of a job that was not made");
	limit_files(1);
	argv[1][0] = 'X';
	replaced = jobdir_make("full", true, argv, "/elsewhere", &other);
	argv[1][0] = 'a';
	limit_files(RLIM_INFINITY);
	is(replaced, ERR_SYS, "a job is not replaced on a full disk");
	jobdir_open("full", &d);
	is(jobdir_command(&d, &back, &cwd), 0, "the old job stays");
	ok(back.n == 3 && strcmp(back.v[1], "a b") == 0 && strcmp(cwd, "/") == 0, "the old job has its command line");
	b.n = 0;
	ok(jobdir_get(&d, "out", 9, &b) == 0 && strcmp((char *)b.p, "said") == 0, "the old job has its output");
	ok(!has_file(&d, "command.new") && !has_file(&d, "dir.new"), "nothing is left of the new job");
	is(jobdir_remove(&d), 0, "the old job can be removed");
	free(cwd);
	words_free(&back);
	buf_free(&b);
}

static void
write_lock(const struct jobdir *d, const char *text)
{
	size_t n = strlen(text);

	ok(ftruncate(d->lock, 0) == 0 && pwrite(d->lock, text, n, 0) == (ssize_t)n, "a lock says '%s'", text);
}

static void
read_boot(char boot[64])
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");

	if (f == NULL || fscanf(f, "%63s", boot) != 1)
		printf("Bail out! no id of this boot\n"), exit(1);
	fclose(f);
}

static void
test_host(void)
{
	char host[JOBDIR_HOST] = "", boot[64], text[JOBDIR_HOST + 128];
	struct jobdir_state s;
	struct jobdir d;

	gethostname(host, sizeof(host) - 1);
	jobdir_make("shared", false, argv, "/", &d);
	jobdir_read_state(&d, &s);
	ok(s.here && !s.beside && s.pid == getpid(), "a launcher's process id counts on its own host");
	is_str(s.host, host, "the host of a launcher is recorded");
	write_lock(&d, "1 other 11111111-2222-3333-4444-555555555555/pid:[4026531836]\n");
	jobdir_read_state(&d, &s);
	ok(!s.here && !s.beside && s.running, "a launcher of another boot is not here, whatever its host is called");
	is_str(s.host, "other", "the host that it wrote is known");
	read_boot(boot);
	snprintf(text, sizeof(text), "1 %s %s/pid:[1]\n", host, boot);
	write_lock(&d, text);
	jobdir_read_state(&d, &s);
	ok(!s.here && s.beside, "a launcher of another container is not here, even with this host's name");
	write_lock(&d, "1\n");
	jobdir_read_state(&d, &s);
	ok(!s.here && s.pid == 1 && s.host[0] == 0, "a lock without a host is of no known host");
	write_lock(&d, "");
	jobdir_read_state(&d, &s);
	ok(!s.here && s.pid == 0, "an empty lock names nobody");
	jobdir_close(&d);
}

/* Whoever looks at a job takes no lock, which a launcher could meet. */
static void
test_readers(void)
{
	struct jobdir_state s;
	unsigned refused = 0;
	struct jobdir d;
	int began[2];
	pid_t pid;
	char c;

	jobdir_make("seen", false, argv, "/", &d);
	jobdir_close(&d);
	if (pipe(began) < 0 || (pid = fork()) < 0)
		abort();
	if (pid == 0) {
		jobdir_open("seen", &d);
		jobdir_read_state(&d, &s);
		for (bool told = write(began[1], "x", 1) == 1; told;)
			jobdir_read_state(&d, &s);
		_exit(1);
	}
	ok(read(began[0], &c, 1) == 1, "another process reads the state of a job that has ended");
	for (unsigned i = 0; i < 2000; i++) {
		jobdir_open("seen", &d);
		refused += jobdir_lock(&d) < 0;
		jobdir_close(&d);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	is(refused, 0, "a job that has ended can be locked while another process reads its state");
}

/* A forked launcher holds the lock. */
static void
test_fork(void)
{
	int to_child[2], to_parent[2], code;
	struct jobdir d, other;
	struct jobdir_state s;
	char c = 0;
	pid_t pid;

	if (pipe(to_child) < 0 || pipe(to_parent) < 0 || jobdir_make("forked", false, argv, "/", &d) < 0)
		return;
	if ((pid = fork()) == 0)
		_exit(jobdir_claim(&d) < 0 || write(to_parent[1], "x", 1) != 1 || read(to_child[0], &c, 1) != 1);
	jobdir_close(&d);
	ok(read(to_parent[0], &c, 1) == 1, "a forked launcher claims the job");
	jobdir_open("forked", &other);
	jobdir_read_state(&other, &s);
	ok(s.running && s.pid == pid, "the state names the forked launcher");
	ok(write(to_child[1], "x", 1) == 1 && waitpid(pid, &code, 0) == pid && code == 0, "the forked launcher ends");
	jobdir_read_state(&other, &s);
	ok(!s.running, "the job no longer runs");
	jobdir_close(&other);
}

static void
test_names(void)
{
	static const char *const bad[] = { "", ".", "..", "a/b", "-x", "a b", "\xc3\xa9" };
	struct words all = { 0 };
	struct jobdir d;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		is(jobdir_make(bad[i], false, argv, "/", &d), ERR_ARG, "'%s' is refused as a name", bad[i]);
	is(jobdir_open("nothing", &d), ERR_ARG, "a missing job is refused");
	is_str(err_line(), "there is no job 'nothing'; dlaunch list shows the jobs", "the error names the missing job");
	for (int i = 0; i < 10; i++) {
		is(jobdir_make(NULL, false, argv, "/", &d), 0, "a job is made");
		jobdir_close(&d);
	}
	is_str(d.name, "11", "numbers count up");
	is(jobdir_make("a.b-c_9", false, argv, "/", &d), 0, "a job with a name is made");
	jobdir_close(&d);
	is(jobdir_list(&all), 0, "all jobs are listed");
	ok(all.n == 16 && strcmp(all.v[1], "2") == 0 && strcmp(all.v[10], "11") == 0 && strcmp(all.v[11], "a.b-c_9") == 0,
	    "the list has numbers by value, then names");
	words_free(&all);
	unsetenv("XDG_STATE_HOME");
	unsetenv("HOME");
	is(jobdir_make(NULL, false, argv, "/", &d), ERR_ARG, "jobdir_make fails without XDG_STATE_HOME and HOME");
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
	test_names_in_use();
	test_full_disk();
	test_host();
	test_readers();
	test_fork();
	test_names();
	snprintf(clean, sizeof(clean), "rm -rf %s", dir);
	return system(clean) != 0 || done();
}
