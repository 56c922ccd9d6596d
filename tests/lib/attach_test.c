/* attach_test - does door keep its header's word? */
#include "tap.h"

#include "base/err.h"
#include "base/io.h"
#include "run/attach/attach.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

static char name[32];

static void
test_ways(void)
{
	int door, in, back, to[2], from[2], fd;
	char text[16] = "";
	size_t got;
	pid_t pid;

	is(attach_enter(name, &fd), ERR_PEER, "where there is no door nobody gets in");
	is(attach_enter("", &fd), ERR_ARG, "nor without a name");
	is(attach_open(name, &door), 0, "a door");
	is(attach_accept(door, &fd), ERR_AGAIN, "at which nobody stands");
	if (pipe(to) < 0 || pipe(from) < 0 || (pid = fork()) < 0)
		return;
	if (pid == 0) {
		close(to[1]);
		_exit(attach_enter(name, &in) == 0 && attach_pass(to[0], from[1], in) == 0 ? 7 : 1);
	}
	close(to[0]);
	close(from[1]);
	poll(&(struct pollfd){ .fd = door, .events = POLLIN }, 1, -1);
	is(attach_accept(door, &back), 0, "somebody comes in");
	is(io_write(to[1], "there", 5), 0, "what he is given");
	close(to[1]);
	ok(io_read(back, text, sizeof(text), &got) == 0 && got == 5 && memcmp(text, "there", 5) == 0, "comes, and its end");
	is(io_write(back, "back", 4), 0, "what he is answered");
	close(back);
	ok(io_read(from[0], text, sizeof(text), &got) == 0 && got == 4 && memcmp(text, "back", 4) == 0, "goes out");
	waitpid(pid, &fd, 0);
	is(WEXITSTATUS(fd), 7, "and he leaves");
	close(from[0]);
	close(door);
	is(attach_enter(name, &fd), ERR_PEER, "a door is gone with who had it");
}

/* Who has a door in another's way. */
static void
test_evict(void)
{
	int ready[2], door, how = 0;
	char c;
	size_t got;
	pid_t pid;

	if (pipe(ready) < 0 || (pid = fork()) < 0)
		return;
	if (pid == 0) {
		if (attach_open(name, &door) == 0 && io_write(ready[1], "x", 1) == 0)
			pause();
		_exit(0);
	}
	if (io_read(ready[0], &c, 1, &got) < 0)
		return;
	is(attach_open(name, &door), 0, "a door that another has is had all the same");
	waitpid(pid, &how, 0);
	ok(WIFSIGNALED(how) && WTERMSIG(how) == SIGTERM, "he is asked to end");
	close(door);
}

/* Another user at a door of this name of his own, who lets one in and is then at ours. */
static _Noreturn void
stranger(int ready)
{
	int door, fd;

	if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0 || attach_open(name, &door) < 0 || io_write(ready, "x", 1) < 0)
		_exit(1);
	poll(&(struct pollfd){ .fd = door, .events = POLLIN }, 1, -1);
	if (attach_accept(door, &fd) != ERR_AUTH)
		_exit(1);
	poll(&(struct pollfd){ .fd = door, .events = POLLIN }, 1, -1);
	close(door);
	while (attach_enter(name, &fd) == ERR_PEER)
		poll(NULL, 0, 10);
	_exit(0);
}

static void
test_stranger(void)
{
	int ready[2], door, fd, e;
	size_t got;
	pid_t pid;
	char c;

	if (geteuid() != 0) {
		skip("another user", "not root");
		return;
	}
	if (pipe(ready) < 0 || (pid = fork()) < 0)
		return;
	if (pid == 0)
		stranger(ready[1]);
	if (io_read(ready[0], &c, 1, &got) < 0 || got != 1)
		return;
	is(attach_enter(name, &fd), ERR_AUTH, "another user's door is not gone into");
	is(attach_open(name, &door), ERR_AUTH, "nor had");
	ok(strstr(err_line(), "another user") != NULL, "which is told");
	while ((e = attach_open(name, &door)) == ERR_AUTH)
		poll(NULL, 0, 10);
	is(e, 0, "once he has left");
	poll(&(struct pollfd){ .fd = door, .events = POLLIN }, 1, -1);
	is(attach_accept(door, &fd), ERR_AUTH, "he does not come in either");
	close(door);
	waitpid(pid, NULL, 0);
}

int
main(void)
{
	snprintf(name, sizeof(name), "test-%d", (int)getpid());
	test_ways();
	test_evict();
	test_stranger();
	return done();
}
