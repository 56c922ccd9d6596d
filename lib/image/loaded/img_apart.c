/* img_apart - decodes an image in a separate process.  For img_heif and img_jxl. */
#include "image/loaded/img_apart.h"
#include "base/confine.h"
#include "base/err.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIXEL_MEMORY	40u	/* bytes */

/* What the child writes before the pixels. */
struct answer {
	int		 code;
	struct img_head	 head;
	char		 line[ERR_LINE];
};

struct child {
	pid_t		 pid;
	int		 fd;	/* the end of the pipe that is read */
	struct answer	 answer;
};

static size_t
pixel_bytes(const struct img_head *head)
{
	return (size_t)head->h * head->w * head->c;
}

static _Noreturn void
run_child(const struct img_apart *a, int fd, const uint8_t *data, size_t n, uint32_t pixels, bool whole)
{
	struct answer answer = { 0 };
	struct buf room = { 0 };

	confine_process(fd, fd, IMG_APART_MEMORY + (uint64_t)PIXEL_MEMORY * pixels);
	confine_cpu(IMG_APART_CPU);
	alarm(IMG_APART_TIME);
	answer.code = a->decode(a->library, data, n, pixels, &answer.head, whole ? &room : NULL);
	if (answer.code < 0)
		snprintf(answer.line, sizeof(answer.line), "%s", err_line());
	if (io_write(fd, &answer, sizeof(answer)) == 0 && answer.code == 0 && whole)
		io_write(fd, room.p, pixel_bytes(&answer.head));
	_exit(0);
}

/* Waits for the end of the child, which has nowhere to write now.  Returns its status. */
static int
end_child(const struct child *child)
{
	int status = 0;

	close(child->fd);
	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* Ends a child that answered too little. */
static int
fail_child(const struct img_apart *a, const struct child *child)
{
	int status = end_child(child);

	if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGALRM))
		return err_fail(ERR_FORMAT, "%s took more than %u seconds for it", a->name,
		    WTERMSIG(status) == SIGXCPU ? IMG_APART_CPU : IMG_APART_TIME);
	if (WIFSIGNALED(status))
		return err_fail(ERR_FORMAT, "%s crashed on it: %s", a->name, strsignal(WTERMSIG(status)));
	return err_fail(ERR_FORMAT, "%s gave up on it", a->name);
}

/* Checks what the child says: hostile bytes may have taken it over. */
static int
check_answer(struct answer *answer, uint32_t pixels)
{
	const struct img_head *head = &answer->head;

	if (answer->code < 0 && answer->code >= ERR_LAST_) {
		answer->line[ERR_LINE - 1] = 0;
		return err_fail(answer->code, "%s", answer->line);
	}
	if (answer->code != 0 || (head->format != IMG_HEIF && head->format != IMG_JXL) ||
	    (head->c != 1 && head->c != 3) || head->h == 0 || head->w == 0 || (uint64_t)head->h * head->w > pixels ||
	    head->orientation != 1 || head->by_rows || head->sub_h != 0)
		return err_fail(ERR_FORMAT, "damaged, so that its decoder answers nonsense");
	return 0;
}

/* Starts a child and reads its answer.  If that is 0, pixels may follow, and end_child() must. */
static int
start_child(const struct img_apart *a, const uint8_t *data, size_t n, uint32_t pixels, bool whole, struct child *child)
{
	size_t got = 0;
	int fd[2], e;

	if (pipe2(fd, O_CLOEXEC) < 0)
		return err_sys("pipe");
	if ((child->pid = fork()) == 0)
		run_child(a, fd[1], data, n, pixels, whole);
	e = child->pid < 0 ? err_sys("fork") : 0;
	close(fd[1]);
	child->fd = fd[0];
	if (e < 0)
		return close(fd[0]), e;
	if (io_read(child->fd, &child->answer, sizeof(child->answer), &got) < 0 || got < sizeof(child->answer))
		return fail_child(a, child);
	if ((e = check_answer(&child->answer, pixels)) < 0)
		end_child(child);
	return e;
}

int
img_apart_head(const struct img_apart *a, const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head)
{
	struct child child;

	ERR_TRY(start_child(a, data, n, pixels, false, &child));
	end_child(&child);
	*head = child.answer.head;
	return 0;
}

int
img_apart_decode(const struct img_apart *a, const uint8_t *data, size_t n, uint32_t c, uint32_t pixels,
    struct buf *room, struct img *out)
{
	const struct img_head *head;
	struct child child;
	size_t area, from, got = 0;
	int e = start_child(a, data, n, pixels, true, &child);

	if (e < 0)
		return e;
	head = &child.answer.head;
	c = c > 0 ? c : head->c;
	area = (size_t)head->h * head->w;
	/* Grey that becomes colour is read after the room of the result. */
	from = c > head->c ? area * c : 0;
	room->n = 0;
	if ((e = buf_room(room, from + pixel_bytes(head))) == 0)
		e = io_read(child.fd, room->p + from, pixel_bytes(head), &got);
	if (e < 0) {
		end_child(&child);
		return e;
	}
	if (got < pixel_bytes(head))
		return fail_child(a, &child);
	end_child(&child);
	if (c != head->c)
		img_convert_channels(room->p + from, head->c, area, c, room->p);
	*out = (struct img){ .p = room->p, .c = c, .h = head->h, .w = head->w };
	return 0;
}
