/* front_wait - says for which pipe or process a tool waits before it can go on. */
#include "front_wait.h"
#include "front.h"

#include "base/threads.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAIT_MS	3000	/* time before a wait is reported */

static struct {
	pthread_t   thread;
	bool	    runs;
	int	    over;	/* an eventfd */
	const char *prefix, *name;
} at;

static int
poll_for(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n;

	while ((n = poll(&p, 1, ms)) < 0 && errno == EINTR)
		continue;
	return n;
}

static void *
report_wait(void *arg)
{
	if (poll_for(at.over, WAIT_MS) == 0)
		front_say("waiting for %s%s", at.prefix, at.name);
	return arg;
}

void
front_wait_for(const char *prefix, const char *name)
{
	front_wait_end();
	if ((at.over = eventfd(0, EFD_CLOEXEC)) < 0)
		return;
	at.prefix = prefix;
	at.name = name;
	at.runs = threads_start(&at.thread, report_wait, NULL) == 0;
	if (!at.runs)
		close(at.over);
}

static void
wait_for_partner(const char *prefix, const char *path)
{
	struct stat st;

	front_wait_end();
	if (stat(path, &st) == 0 && S_ISFIFO(st.st_mode))
		front_wait_for(prefix, path);
}

void
front_wait_read(const char *path)
{
	if (strcmp(path, "-") != 0) {
		wait_for_partner("", path);
	} else if (poll_for(STDIN_FILENO, WAIT_MS) == 0) {
		front_say("waiting for standard input");
		poll_for(STDIN_FILENO, -1);
	}
}

void
front_wait_write(const char *path)
{
	wait_for_partner("a reader of ", path);
}

void
front_wait_end(void)
{
	if (!at.runs)
		return;
	eventfd_write(at.over, 1);
	pthread_join(at.thread, NULL);
	close(at.over);
	at.runs = false;
}
