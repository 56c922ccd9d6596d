/* lockfile_test - one of many processes makes the file, even if the first maker is killed, fails or goes silent. */
#include "base/clk.h"
#include "base/err.h"
#include "base/lockfile.h"
#include "pics.h"
#include "tap.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

#define MANY 6

static const char *path, *notes;

/* Appends a word to the notes in one write. */
static void
note(const char *word)
{
	int fd = open(notes, O_WRONLY | O_APPEND | O_CREAT, 0600);

	(void)!write(fd, word, strlen(word));
	close(fd);
}

static const char *
noted(void)
{
	static char text[400];
	struct buf b = { 0 };

	text[0] = 0;
	if (io_slurp(notes, sizeof(text) - 1, &b) == 0)
		snprintf(text, sizeof(text), "%.*s", (int)b.n, (const char *)b.p);
	buf_free(&b);
	return text;
}

/* Records the holder, then makes the file. */
static void
record_holder(void *arg, const char *whom)
{
	snprintf(arg, LOCKFILE_NAME, "%s", whom);
	pics_write(path, "made", 4);
}

/* Exits with 0 if it made the file, 1 if it found it, else 2.  The maker first writes its pid and waits for a byte. */
static void
process(int told, int go)
{
	pid_t me = getpid();
	struct lockfile *o;
	char c;
	int e = lockfile_acquire(path, 0, NULL, NULL, &o);

	if (e == 0) {
		note("m");
		(void)!write(told, &me, sizeof(me));
		(void)!read(go, &c, 1);
		pics_write(path, "made", 4);
		lockfile_release(o);
	}
	_exit(e < 0 ? 2 : e);
}

struct makers {
	pid_t	pid[MANY];
	int	told[2], go[2];
};

static void
start(struct makers *m)
{
	unlink(path);
	unlink(notes);
	(void)!pipe(m->told);
	(void)!pipe(m->go);
	fflush(stdout);
	for (int i = 0; i < MANY; i++)
		if ((m->pid[i] = fork()) == 0)
			process(m->told[1], m->go[0]);
}

/* The pid of the process that holds the lock. */
static pid_t
holder(struct makers *m)
{
	pid_t pid = 0;

	(void)!read(m->told[0], &pid, sizeof(pid));
	return pid;
}

/* Waits for all; by counts exit statuses 0, 1 and others. */
static void
end(struct makers *m, int by[3])
{
	int status;

	by[0] = by[1] = by[2] = 0;
	for (int i = 0; i < MANY; i++) {
		if (m->pid[i] == 0)
			continue;
		waitpid(m->pid[i], &status, 0);
		by[WIFEXITED(status) && WEXITSTATUS(status) < 2 ? WEXITSTATUS(status) : 2]++;
	}
	for (int i = 0; i < 2; i++) {
		close(m->told[i]);
		close(m->go[i]);
	}
}

static bool
locked(const char *suffix)
{
	char name[300];

	snprintf(name, sizeof(name), "%s.lock%s", path, suffix);
	return access(name, F_OK) == 0;
}

static void
test_many(void)
{
	struct makers m;
	int by[3];

	start(&m);
	holder(&m);
	ok(locked(""), "the process that makes the file holds the lock");
	(void)!write(m.go[1], "!", 1);
	end(&m, by);
	is(by[0], 1, "one process makes the file");
	is(by[1], MANY - 1, "the other processes find the file");
	is_str(noted(), "m", "the file is made once");
	ok(!locked(""), "no lock is left");
}

static void
test_killed(void)
{
	double begun = clk_s();
	struct makers m;
	pid_t first;
	int by[3];

	start(&m);
	first = holder(&m);
	kill(first, SIGKILL);
	waitpid(first, NULL, 0);
	for (int i = 0; i < MANY; i++)
		if (m.pid[i] == first)
			m.pid[i] = 0;
	ok(holder(&m) != first && locked(".1"), "another process takes over when the maker is killed");
	ok(clk_s() - begun < LOCKFILE_SILENT_S / 2, "the other process takes over before the lock is silent for long");
	(void)!write(m.go[1], "!", 1);
	end(&m, by);
	is(by[0], 1, "the second process makes the file");
	is(by[1], MANY - 2, "the other processes find the second process's file");
	is_str(noted(), "mm", "two processes started to make it");
	ok(!locked("") && !locked(".1"), "no lock is left");
}

static void
test_fails(void)
{
	struct lockfile *o;

	unlink(path);
	is(lockfile_acquire(path, 0, NULL, NULL, &o), 0, "lockfile_acquire gives the lock of a missing file");
	lockfile_release(o);
	is(lockfile_acquire(path, 0, NULL, NULL, &o), 0, "the next caller gets the lock after a release without the file");
	pics_write(path, "made", 4);
	lockfile_release(o);
	is(lockfile_acquire(path, 0, NULL, NULL, &o), 1, "lockfile_acquire returns 1 if the file exists");
	is(lockfile_acquire(pics_path("no/such/place"), 0, NULL, NULL, &o), ERR_SYS, "lockfile_acquire fails in a missing folder");
	ok(strstr(err_line(), "no/such/place") != NULL, "the error names the folder: %s", err_line());
}

/* A lock of another host's process. */
static void
test_elsewhere(void)
{
	char name[300], whom[LOCKFILE_NAME] = "";
	struct lockfile *o;

	unlink(path);
	snprintf(name, sizeof(name), "%s.lock", path);
	pics_write(name, "elsewhere 17\n", 13);
	is(lockfile_acquire(path, 0, record_holder, whom, &o), 1, "lockfile_acquire waits for a lock of another host");
	is_str(whom, "process 17 on elsewhere", "the callback names the process that holds the lock");
	unlink(path);
	is(lockfile_acquire(path, 0.3, NULL, NULL, &o), 0, "a lock that is silent for too long is stale");
	ok(locked(".1"), "a stale lock is not removed while the next is held");
	lockfile_release(o);
	ok(!locked("") && !locked(".1"), "lockfile_release removes all locks");
}

int
main(void)
{
	static char made[300], words[300];

	snprintf(made, sizeof(made), "%s", pics_path("once.bin"));
	snprintf(words, sizeof(words), "%s", pics_path("notes"));
	path = made;
	notes = words;
	test_many();
	test_killed();
	test_fails();
	test_elsewhere();
	pics_clean();
	return done();
}
