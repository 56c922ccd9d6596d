/* attach_test - tests attach against its header. */
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

static pid_t pid_of_peer;

static char name[32];

static void
test_ways(void)
{
	int listener, in, back, to[2], from[2], fd;
	char text[16] = "";
	size_t got;
	pid_t pid;

	is(attach_connect(name, &fd, &pid_of_peer), ERR_PEER, "attach_connect fails without an agent");
	is(attach_connect("", &fd, &pid_of_peer), ERR_ARG, "attach_connect refuses an empty name");
	is(attach_listen(name, &listener), 0, "attach_listen listens under a name");
	is(attach_accept(listener, &fd), ERR_AGAIN, "attach_accept finds no connection at first");
	if (pipe(to) < 0 || pipe(from) < 0 || (pid = fork()) < 0)
		return;
	if (pid == 0) {
		close(to[1]);
		_exit(attach_connect(name, &in, &pid_of_peer) == 0 && attach_relay(to[0], from[1], in) == 0 ? 7 : 1);
	}
	close(to[0]);
	close(from[1]);
	poll(&(struct pollfd){ .fd = listener, .events = POLLIN }, 1, -1);
	is(attach_accept(listener, &back), 0, "attach_accept accepts a connection");
	is(io_write(to[1], "there", 5), 0, "the relay's input is written");
	close(to[1]);
	ok(io_read(back, text, sizeof(text), &got) == 0 && got == 5 && memcmp(text, "there", 5) == 0,
	    "attach_relay copies its input and the end of it");
	is(io_write(back, "back", 4), 0, "the agent's answer is written");
	close(back);
	ok(io_read(from[0], text, sizeof(text), &got) == 0 && got == 4 && memcmp(text, "back", 4) == 0,
	    "attach_relay copies the answer to its output");
	waitpid(pid, &fd, 0);
	is(WEXITSTATUS(fd), 7, "attach_relay returns at the end of the socket");
	close(from[0]);
	close(listener);
	is(attach_connect(name, &fd, &pid_of_peer), ERR_PEER, "a name is free once its listener is closed");
}

/* Listens under a name that another agent then wants. */
static void
test_evict(void)
{
	int ready[2], listener, how = 0;
	char c;
	size_t got;
	pid_t pid;

	if (pipe(ready) < 0 || (pid = fork()) < 0)
		return;
	if (pid == 0) {
		if (attach_listen(name, &listener) == 0 && io_write(ready[1], "x", 1) == 0)
			pause();
		_exit(0);
	}
	if (io_read(ready[0], &c, 1, &got) < 0)
		return;
	is(attach_listen(name, &listener), 0, "attach_listen takes a name from another agent");
	waitpid(pid, &how, 0);
	ok(WIFSIGNALED(how) && WTERMSIG(how) == SIGTERM, "the other agent gets SIGTERM");
	close(listener);
}

/* Another user, who listens under this name, accepts a connection, and then connects to us. */
static _Noreturn void
stranger(int ready)
{
	int listener, fd;

	if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0 || attach_listen(name, &listener) < 0 || io_write(ready, "x", 1) < 0)
		_exit(1);
	poll(&(struct pollfd){ .fd = listener, .events = POLLIN }, 1, -1);
	if (attach_accept(listener, &fd) != ERR_AUTH)
		_exit(1);
	poll(&(struct pollfd){ .fd = listener, .events = POLLIN }, 1, -1);
	close(listener);
	while (attach_connect(name, &fd, &pid_of_peer) == ERR_PEER)
		poll(NULL, 0, 10);
	_exit(0);
}

static void
test_stranger(void)
{
	int ready[2], listener, fd, e;
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
	is(attach_connect(name, &fd, &pid_of_peer), ERR_AUTH, "attach_connect refuses another user's socket");
	is(attach_listen(name, &listener), ERR_AUTH, "attach_listen does not take another user's name");
	ok(strstr(err_line(), "another user") != NULL, "the error names the other user");
	while ((e = attach_listen(name, &listener)) == ERR_AUTH)
		poll(NULL, 0, 10);
	is(e, 0, "attach_listen takes the name once the other user has ended");
	poll(&(struct pollfd){ .fd = listener, .events = POLLIN }, 1, -1);
	is(attach_accept(listener, &fd), ERR_AUTH, "attach_accept refuses another user's connection");
	close(listener);
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
