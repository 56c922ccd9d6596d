/* warden - a process that ends the others when the one that started it is gone. */
#include "run/warden.h"

#include "base/err.h"
#include "base/io.h"
#include "run/session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Each message is a group's id: positive when it begins, negative when it has ended. */
static void
watch(int fd)
{
	int32_t group[WARDEN_MOST];
	size_t n = 0, got, k;
	int32_t id;

	while (io_read(fd, &id, sizeof(id), &got) == 0 && got == sizeof(id)) {
		for (k = 0; k < n && group[k] != -id; k++)
			;
		if (id > 0 && n < WARDEN_MOST)
			group[n++] = id;
		else if (id < 0 && k < n)
			group[k] = group[--n];
	}
	for (k = 0; k < n; k++)
		session_kill(group[k]);
}

int
warden_start(struct warden *w)
{
	sigset_t all;
	int fd[2], null;

	w->fd = -1;
	if (pipe2(fd, O_CLOEXEC) < 0)
		return err_sys("pipe");
	if ((w->pid = fork()) < 0) {
		close(fd[0]);
		close(fd[1]);
		return err_sys("fork");
	}
	if (w->pid == 0) {
		/* Of its own session and name, and without the remote shell's pipe: it must neither hold nor share its end. */
		setsid();
		prctl(PR_SET_NAME, "tally-warden");
		sigfillset(&all);
		sigprocmask(SIG_SETMASK, &all, NULL);
		close(fd[1]);
		if ((null = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0)
			for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
				dup2(null, i);
		watch(fd[0]);
		_exit(0);
	}
	close(fd[0]);
	w->fd = fd[1];
	return 0;
}

static void
tell(struct warden *w, int32_t id)
{
	if (w->fd >= 0 && io_write(w->fd, &id, sizeof(id)) < 0)
		warden_stop(w);
}

void
warden_watch(struct warden *w, pid_t group)
{
	tell(w, (int32_t)group);
}

void
warden_forget(struct warden *w, pid_t group)
{
	tell(w, -(int32_t)group);
}

void
warden_stop(struct warden *w)
{
	if (w->fd < 0)
		return;
	close(w->fd);
	w->fd = -1;
	while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
