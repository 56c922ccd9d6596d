/* mailbox - a request for a change of settings (ps/settings.h) to worker 0, and its answer. */
#include "ps/mailbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int
mailbox_make(int *fd)
{
	const int f = memfd_create("tally-mailbox", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (f < 0 || ftruncate(f, sizeof(struct mailbox_page)) < 0 ||
	    fcntl(f, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
		int e = err_sys("memfd_create");

		if (f >= 0)
			close(f);
		return e;
	}
	*fd = f;
	return 0;
}

int
mailbox_open(int fd, struct mailbox *m)
{
	struct stat st;
	void *p;
	int seals;

	m->page = NULL;
	if (fstat(fd, &st) < 0)
		return err_sys("mailbox");
	if (st.st_size != sizeof(*m->page) || (seals = fcntl(fd, F_GET_SEALS)) < 0 || (seals & F_SEAL_SHRINK) == 0)
		return err_fail(ERR_FORMAT, "descriptor %d is no mailbox", fd);
	if ((p = mmap(NULL, sizeof(*m->page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) == MAP_FAILED)
		return err_sys("mmap");
	m->page = p;
	return 0;
}

void
mailbox_close(struct mailbox *m)
{
	if (m->page != NULL)
		munmap(m->page, sizeof(*m->page));
	m->page = NULL;
}

void
mailbox_ask(struct mailbox *m, uint64_t id, const char *text)
{
	if (m->page->asked == id)
		return;
	m->page->asked = 0;
	snprintf(m->page->text, sizeof(m->page->text), "%s", text);
	m->page->asked = id;
}

bool
mailbox_answer(const struct mailbox *m, uint64_t id, uint64_t *from, char *why)
{
	if (m->page->answered != id)
		return false;
	*from = m->page->from;
	snprintf(why, ERR_LINE, "%.*s", (int)sizeof(m->page->why) - 1, m->page->why);
	return true;
}

bool
mailbox_next(const struct mailbox *m, uint64_t *id, char text[SETTINGS_TEXT])
{
	*id = m->page->asked;
	if (*id == 0 || *id == m->page->answered)
		return false;
	memcpy(text, m->page->text, SETTINGS_TEXT);
	text[SETTINGS_TEXT - 1] = 0;
	return m->page->asked == *id;	/* else another one is being written */
}

void
mailbox_settle(struct mailbox *m, uint64_t id, uint64_t from, const char *why)
{
	m->page->answered = 0;
	m->page->from = from;
	snprintf(m->page->why, sizeof(m->page->why), "%s", why != NULL ? why : "");
	m->page->answered = id;
}
