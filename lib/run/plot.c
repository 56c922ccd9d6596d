/* plot - figures by epoch into a picture. */
#include "run/plot.h"

#include "base/err.h"
#include "base/io.h"
#include "base/share.h"

#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int
put_data(const struct curve_rows *rows, struct buf *out)
{
	int e = buf_put_fmt(out, "$data << END\n");

	for (size_t i = 0; i < rows->n && e == 0; i++) {
		const struct curve_row *r = &rows->row[i];

		if (i > 0 && r->run != r[-1].run)
			e = buf_put_fmt(out, "\n\n");
		e = e < 0 ? e : buf_put_fmt(out, "%llu", (unsigned long long)r->at);
		for (int m = 0; m < LOGLINE_MEASURES && e == 0; m++)
			e = r->has[m] && isfinite(r->value[m]) ? buf_put_fmt(out, " %.9g", r->value[m]) :
			    buf_put_fmt(out, " NaN");
		e = e < 0 ? e : buf_put(out, "\n", 1);
	}
	return e < 0 ? e : buf_put_fmt(out, "END\n");
}

/* An unnamed file that holds p[0..n), read from its start. */
static int
hold(const void *p, size_t n)
{
	int fd = memfd_create("plot", MFD_CLOEXEC);

	if (fd >= 0 && (io_write(fd, p, n) < 0 || lseek(fd, 0, SEEK_SET) < 0)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* gnuplot's first words on the matter, for the line that says that it failed. */
static int
complaint(int fd)
{
	char text[512];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	char *p = text;

	text[n > 0 ? n : 0] = 0;
	p += strspn(p, " \n\t^");
	p[strcspn(p, "\n")] = 0;
	return err_fail(ERR_SYS, "gnuplot: %s", *p != 0 ? p : "failed");
}

/* Runs gnuplot on what in holds, then on script; the picture goes to out, complaints to err. */
static int
draw(int in, char *script, int out, int err)
{
	char *argv[] = { (char[]){ "gnuplot" }, (char[]){ "-" }, script, NULL };
	posix_spawn_file_actions_t to;
	int e, status = 0;
	pid_t pid;

	if (posix_spawn_file_actions_init(&to) != 0)
		return err_nomem();
	posix_spawn_file_actions_adddup2(&to, in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&to, out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&to, err, STDERR_FILENO);
	e = posix_spawnp(&pid, argv[0], &to, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&to);
	if ((errno = e) != 0)
		return err_sys("gnuplot");
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys("wait for gnuplot");
	return status == 0 ? 0 : complaint(err);
}

static int
compose(const struct curve_rows *rows, struct buf *text)
{
	int loss = 0, e;

	for (size_t i = 0; i < rows->n; i++)
		loss |= rows->row[i].has[LOGLINE_TRAIN_LOSS] || rows->row[i].has[LOGLINE_VAL_LOSS];
	e = buf_put_fmt(text, "runs = %u\nloss = %d\nby = '%s'\n", rows->runs, loss,
	    rows->n > 0 && rows->row[0].by_step ? "step" : "epoch");
	return e < 0 ? e : put_data(rows, text);
}

int
plot_png(const struct curve_rows *rows, const char *path)
{
	struct buf text = { 0 };
	char script[PATH_MAX];
	struct io_new f;
	int e, in, err;

	if ((e = share_find("plot/epochs.gp", script)) < 0)
		return e;
	if ((e = compose(rows, &text)) < 0 || (e = io_create(&f, path)) < 0) {
		buf_free(&text);
		return e;
	}
	in = hold(text.p, text.n);
	err = hold("", 0);
	e = in < 0 || err < 0 ? err_sys("a temporary file") : draw(in, script, f.fd, err);
	if (e == 0)
		e = io_commit(&f);
	else
		io_abandon(&f);
	if (in >= 0)
		close(in);
	if (err >= 0)
		close(err);
	buf_free(&text);
	return e;
}
