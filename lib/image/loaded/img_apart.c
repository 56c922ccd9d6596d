/* img_apart - decodes an image in a separate process, with a library that is loaded for it.  For img. */
#include "image/loaded/img_apart.h"
#include "base/confine.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"

#include <errno.h>
#include <signal.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIXEL_MEMORY	40u	/* bytes */

/* What the child writes before anything else, and again before the pixels. */
struct answer {
	int		 code;
	struct img_head	 head;
	char		 line[ERR_LINE];
};

static size_t
count_pixel_bytes(const struct img_head *head)
{
	return (size_t)head->h * head->w * head->c;
}

static int
write_answer(int fd, struct answer *answer)
{
	if (answer->code < 0)
		snprintf(answer->line, sizeof(answer->line), "%s", err_line());
	return io_write(fd, answer, sizeof(*answer));
}

static _Noreturn void
run_child(const struct img_apart *a, void *library, int fd, const uint8_t *data, size_t n, uint32_t pixels)
{
	struct answer answer = { 0 };
	size_t got = 0;
	uint8_t *p, go;

	confine_process(fd, fd, IMG_APART_MEMORY + (uint64_t)PIXEL_MEMORY * pixels);
	confine_cpu(IMG_APART_CPU);
	alarm(IMG_APART_TIME);
	answer.code = a->head(library, data, n, pixels, &answer.head);
	if (write_answer(fd, &answer) < 0 || answer.code < 0 || io_read(fd, &go, 1, &got) < 0 || got == 0)
		_exit(0);
	p = malloc(count_pixel_bytes(&answer.head));
	answer.code = p != NULL ? a->decode(library, &answer.head, p) : err_nomem();
	if (write_answer(fd, &answer) == 0 && answer.code == 0)
		io_write(fd, p, count_pixel_bytes(&answer.head));
	_exit(0);
}

/* Waits for the end of a child.  Returns its status. */
static int
reap_child(struct img_apart_child *child)
{
	int status = 0;

	close(child->fd);
	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	child->pid = 0;
	return status;
}

void
img_apart_end(struct img_apart_child *child)
{
	if (child->pid == 0)
		return;
	/* Nothing more is wanted of it, and hostile bytes may have taken it over. */
	kill(child->pid, SIGKILL);
	reap_child(child);
}

/* Ends a child that answered too little. */
static int
fail_child(const struct img_apart *a, struct img_apart_child *child)
{
	int status = reap_child(child);

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
		return err_fail(ERR_FORMAT, "damaged: the decoder returned an invalid answer");
	return 0;
}

/* Reads an answer.  The child goes on only if it is 0. */
static int
read_answer(struct img_apart_child *child, const struct img_apart *a, uint32_t pixels, struct answer *answer)
{
	size_t got = 0;
	int e;

	if (io_read(child->fd, answer, sizeof(*answer), &got) < 0 || got < sizeof(*answer))
		return fail_child(a, child);
	if ((e = check_answer(answer, pixels)) < 0)
		img_apart_end(child);
	return e;
}

static int
start_child(struct img_apart_child *child, const struct img_apart *a, const uint8_t *data, size_t n, uint32_t pixels)
{
	alignas(max_align_t) uint8_t library[IMG_APART_LIBRARY] = { 0 };
	struct answer answer;
	int fd[2], e;

	img_apart_end(child);
	ERR_TRY(a->load(library));
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0)
		return err_sys("socketpair");
	if ((child->pid = fork()) == 0)
		run_child(a, library, fd[1], data, n, pixels);
	e = child->pid < 0 ? err_sys("fork") : 0;
	close(fd[1]);
	child->fd = fd[0];
	if (e < 0) {
		close(fd[0]);
		child->pid = 0;
		return e;
	}
	ERR_TRY(read_answer(child, a, pixels, &answer));
	child->head = answer.head;
	child->hash = hash_update(HASH_START, data, n);
	return 0;
}

int
img_apart_head(struct img_apart_child *child, const struct img_apart *a, const uint8_t *data, size_t n,
    uint32_t pixels, struct img_head *head)
{
	ERR_TRY(start_child(child, a, data, n, pixels));
	*head = child->head;
	return 0;
}

/* Has the child decode the image, and reads the pixels at `from` bytes of the room. */
static int
read_pixels(struct img_apart_child *child, const struct img_apart *a, uint32_t pixels, struct buf *room, size_t from)
{
	size_t n = count_pixel_bytes(&child->head), got = 0;
	struct answer answer;

	if (send(child->fd, "", 1, MSG_NOSIGNAL) != 1)
		return fail_child(a, child);
	ERR_TRY(read_answer(child, a, pixels, &answer));
	ERR_TRY(buf_room(room, from + n));
	if (io_read(child->fd, room->p + from, n, &got) < 0 || got < n)
		return fail_child(a, child);
	return 0;
}

int
img_apart_decode(struct img_apart_child *child, const struct img_apart *a, const uint8_t *data, size_t n, uint32_t c,
    uint32_t pixels, struct buf *room, struct img *out)
{
	struct img_head head;
	size_t area, from;
	int e;

	if (child->pid == 0 || child->hash != hash_update(HASH_START, data, n))
		ERR_TRY(start_child(child, a, data, n, pixels));
	head = child->head;
	c = c > 0 ? c : head.c;
	area = (size_t)head.h * head.w;
	/* Grey that becomes colour is read after the room of the result. */
	from = c > head.c ? area * c : 0;
	room->n = 0;
	e = read_pixels(child, a, pixels, room, from);
	img_apart_end(child);
	if (e < 0)
		return e;
	if (c != head.c)
		img_convert_channels(room->p + from, head.c, area, c, room->p);
	*out = (struct img){ .p = room->p, .c = c, .h = head.h, .w = head.w };
	return 0;
}
