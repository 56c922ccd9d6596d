/* batch_stream_test - batches of a pipe: each record once, shuffled within a window, one epoch,
    an end without delay. */
#include "batches.h"
#include "numbers.h"
#include "tap.h"

#include <sys/stat.h>
#include <sys/wait.h>

/* Writes a file into a pipe from a process of its own, a few bytes at a time; how many times over. */
static pid_t
feed(const char *path, const char *pipe, int times)
{
	pid_t pid = fork();
	char chunk[777];
	ssize_t n;

	if (pid != 0)
		return pid;
	for (int out = open(pipe, O_WRONLY), in; times-- > 0; close(in))
		for (in = open(path, O_RDONLY); (n = read(in, chunk, sizeof(chunk))) > 0;)
			if (io_write(out, chunk, (size_t)n) < 0)
				_exit(1);
	_exit(0);
}

/* Reads the pipe's one epoch; returns a digest of it, and how often each record came. */
static uint64_t
read_stream(struct batch_opt *o, int times, int seen[BATCHES_N], int *pieces, int *near_by)
{
	uint64_t sum = 14695981039346656037u, place = 0;
	pid_t pid = feed(batches_rec, o->path, times);
	struct batch_reader *r = batches_open(o);
	const struct batch *b;

	batch_start(r, 0, 0);
	for (*pieces = 0, *near_by = 1; batch_next(r, &b) > 0; (*pieces)++)
		for (uint32_t i = 0; i < b->s.n; i++, place++) {
			seen[b->id[i] - 1000]++;
			*near_by &= b->id[i] - 1000 <= place + o->window;
			sum = (sum ^ b->id[i] ^ (uint64_t)(numbers(&b->s)[i * 192] * 256)) * 1099511628211u;
		}
	is(batch_next(r, &b), 0, "a stream: the end is returned again");
	batch_start(r, 1, 0);
	is(batch_next(r, &b), 0, "a stream: there is no second epoch");
	batch_close(r);
	waitpid(pid, NULL, 0);
	return sum;
}

static volatile sig_atomic_t stop;
static char awaited[256];

static void
note_wait(void *arg, const char *whom)
{
	(void)arg;
	snprintf(awaited, sizeof(awaited), "%s", whom);
	stop = 1;
}

/* A reader reports that a pipe has no bytes, and is stopped by that report. */
static void
test_wait(const char *pipe)
{
	struct batch_opt o = { .path = pipe, .batch = 8, .aug = { .c = 3, .h = 8, .w = 8 }, .threads = 2,
		.waiting = note_wait, .stop = &stop };
	struct batch_reader *r = batches_open(&o);
	const struct batch *b;

	batch_start(r, 0, 0);
	is(batch_next(r, &b), ERR_STOP, "a stream: a wait ends when a stop is requested");
	is_str(awaited, pipe, "a stream: the wait is reported with the pipe's name");
	batch_close(r);
}

static void
test_stream(void)
{
	char pipe[256];
	struct batch_opt o = { .path = pipe, .batch = 8, .aug = { .c = 3, .h = 8, .w = 8, .seed = 4, .rand_crop = true },
		.shuffle = true, .window = 20, .threads = 1, .my_micros = 3, .micros = 3 };
	int seen[BATCHES_N] = { 0 }, once = 1, pieces, near_by;
	struct batch_reader *r;
	uint64_t one, id = 0;
	const struct batch *b;
	int fd, same = 1;
	pid_t pid;

	snprintf(pipe, sizeof(pipe), "%s", pics_path("pipe"));
	mkfifo(pipe, 0600);
	one = read_stream(&o, 1, seen, &pieces, &near_by);
	for (int i = 0; i < BATCHES_N; i++)
		once &= seen[i] == 1;
	ok(once, "a stream: batches have each record once");
	o.drop_last = true;
	is(batch_open(&o, &r), ERR_ARG, "a stream: drop_last is refused, as its end is unknown");
	o.drop_last = false;
	is(pieces, 15, "a stream: 101 records are 15 micro-batches of 8, with a full last step");
	ok(near_by, "a stream: records are shuffled within the window");
	for (o.threads = 2; o.threads <= 8; o.threads *= 2)
		ok(read_stream(&o, 1, seen, &pieces, &near_by) == one,
		    "a stream: %u threads give the batches of one", o.threads);
	o.aug.seed = 5;
	ok(read_stream(&o, 1, seen, &pieces, &near_by) != one, "a stream: seeds differ");

	o.shuffle = false;
	pid = feed(batches_rec, pipe, 1);
	r = batches_open(&o);
	is(batch_steps(r), 0, "a stream: the number of steps is unknown");
	batch_start(r, 0, 0);
	while (batch_next(r, &b) > 0)
		for (uint32_t i = 0; i < b->s.n; i++)
			same &= b->id[i] == 1000 + id++;
	ok(same && id == BATCHES_N, "a stream: without shuffling records have the stream's order");
	batch_close(r);
	waitpid(pid, NULL, 0);

	fd = open(pipe, O_RDWR);	/* a writer that sends nothing */
	r = batches_open(&o);
	batch_start(r, 0, 0);
	batch_close(r);
	ok(1, "a stream: batch_close() works while threads wait for bytes");
	test_wait(pipe);
	is(io_write(fd, "no record at all", 16), 0, "bytes that are no record are written");
	r = batches_open(&o);
	batch_start(r, 0, 0);
	is(batch_next(r, &b), ERR_FORMAT, "a stream: foreign bytes are an error");
	ok(strncmp(err_line(), pipe, strlen(pipe)) == 0, "the error names the stream");
	batch_close(r);
	close(fd);
}

int
main(void)
{
	batches_make();
	test_stream();
	pics_clean();
	return done();
}
