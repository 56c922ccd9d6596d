/* remote - a host as the launcher sees it: the remote shell, its agent, and the pipe between them. */
#include "run/launcher/remote.h"

#include "base/clk.h"
#include "base/err.h"
#include "run/child.h"
#include "run/launcher/roster.h"

#include <signal.h>
#include <stdio.h>

#define WHY_S 1.0	/* time for the remote shell's last words and status after its pipe ended */

int
remote_call(struct remote *r, const char *name, char *const *argv)
{
	struct child c;

	remote_free(r);
	r->name = name;
	r->status = 0;
	r->last[0] = r->why[0] = 0;
	r->ended_at = 0;
	r->greeted = false;
	/* SIGTERM, not SIGKILL: an agent on this machine first ends its processes. */
	ERR_TRY(child_start(&(struct child_opt){ .argv = argv, .has_in = true, .death = SIGTERM }, &c));
	r->pid = c.pid;
	r->chan = chan_open(c.out, c.in);
	r->err = lines_open(c.err);
	return r->chan != NULL && r->err != NULL ? 0 : err_nomem();
}

void
remote_poll(const struct remote *r, struct pollfd fd[REMOTE_FDS], bool lines)
{
	fd[0] = fd[1] = (struct pollfd){ .fd = -1 };
	if (r->chan != NULL)
		chan_poll(r->chan, fd);
	fd[2] = (struct pollfd){ .fd = r->err != NULL && lines ? lines_fd(r->err) : -1, .events = POLLIN };
}

static void
note_end(struct remote *r)
{
	if (r->ended_at == 0)
		r->ended_at = clk_s();
}

static void
note_why(struct remote *r)
{
	snprintf(r->why, sizeof(r->why), "%s", err_line());
	note_end(r);
}

void
remote_run(struct remote *r, bool died)
{
	if (died && child_ended(r->pid, &r->status, NULL)) {
		r->pid = 0;
		note_end(r);
	}
	if (r->chan != NULL && r->why[0] == 0 && chan_run(r->chan) < 0)
		note_why(r);
}

void
remote_push(struct remote *r)
{
	if (r->chan != NULL && r->why[0] == 0 && chan_push(r->chan) < 0)
		note_why(r);
}

bool
remote_line(struct remote *r, const char **text, size_t *n)
{
	int e = r->err != NULL ? lines_next(r->err, text, n) : 0;
	const char *from, *end;

	if (e == 0) {
		lines_close(r->err);
		r->err = NULL;
	}
	if (e != 1)
		return false;
	/* The last line that is not blank is usually why ssh failed. */
	for (end = *text + *n; end > *text; end = from) {
		for (from = end - 1; from > *text && from[-1] != '\n'; from--)
			;
		if (strspn(from, " \t\r\n") >= (size_t)(end - from))
			continue;
		snprintf(r->last, sizeof(r->last), "%.*s", (int)strcspn(from, "\r\n"), from);
		break;
	}
	return true;
}

bool
remote_lost(const struct remote *r)
{
	if (r->state >= REMOTE_DONE || r->ended_at == 0 || (r->state == REMOTE_AWAY && r->chan == NULL))
		return false;
	return (r->pid == 0 && r->why[0] != 0 && r->err == NULL) || clk_s() - r->ended_at > WHY_S;
}

void
remote_why(const struct remote *r, char text[2 * REMOTE_LAST], int *code)
{
	const char *head = r->state == REMOTE_CALLED ? "no agent answers" :
	    r->state == REMOTE_AWAY ? "does not answer" : "went away";
	const char *tail = r->why;
	char how[64];

	if (r->last[0] != 0) {
		tail = r->last;
	} else if (r->pid == 0) {
		roster_end_text(r->status, how);
		tail = how;
	}
	snprintf(text, 2 * REMOTE_LAST, "%s: %s", head, tail);
	/* ssh(1) exits with 255 if it cannot connect; another status is the host's, which lacks the command. */
	*code = r->state == REMOTE_CALLED && r->pid == 0 && roster_code(r->status) < 128 ? 1 : ROSTER_AGAIN;
}

void
remote_hang_up(struct remote *r, int signo)
{
	chan_close(r->chan);
	r->chan = NULL;
	if (signo == 0)
		return;
	child_signal(r->pid, signo);
	child_signal(r->pid, SIGCONT);	/* in case it is stopped: an agent then ends its processes */
}

void
remote_free(struct remote *r)
{
	chan_close(r->chan);
	lines_close(r->err);
	r->chan = NULL;
	r->err = NULL;
}
