/*
 * mailbox - a request for a change of settings (ps/settings.h) to worker 0, and its answer.
 *
 * The agent of worker 0's host makes a memory of one page, in which it leaves a request and the worker an answer.  It
 * outlives both: their successors find what was not handled.  Each of them writes its own part, a number last, and so
 * that the other reads all of it or nothing.
 *
 * Threads: one in each process.
 */
#ifndef PS_MAILBOX_H
#define PS_MAILBOX_H

#include "base/err.h"
#include "ps/settings.h"

#include <stdatomic.h>

struct mailbox_page {
	_Atomic uint64_t asked;		/* id of the request; 0: none, or it is being written */
	char		 text[SETTINGS_TEXT];
	_Atomic uint64_t answered;	/* id of the request that was answered */
	uint64_t	 from;		/* the step from which on the change holds */
	char		 why[ERR_LINE];	/* why it is refused; "": it is not */
};

struct mailbox {
	struct mailbox_page *page;	/* NULL: not open */
};

int	 mailbox_make(int *fd);		/* an empty one, a memfd that cannot be resized; 0 or ERR_SYS */
/* Maps one; fd stays the caller's.  Returns 0, ERR_SYS, or ERR_FORMAT (it is none). */
int	 mailbox_open(int fd, struct mailbox *m);
void	 mailbox_close(struct mailbox *m);

/* Leaves a request.  A request with the id of the last one changes nothing. */
void	 mailbox_ask(struct mailbox *m, uint64_t id, const char *text);
/* Whether the request was answered; why [ERR_LINE] as in the page. */
bool	 mailbox_answer(const struct mailbox *m, uint64_t id, uint64_t *from, char *why);

/* Whether there is a request without an answer. */
bool	 mailbox_next(const struct mailbox *m, uint64_t *id, char text[SETTINGS_TEXT]);
/* Answers it; why NULL: it is not refused. */
void	 mailbox_settle(struct mailbox *m, uint64_t id, uint64_t from, const char *why);

#endif
