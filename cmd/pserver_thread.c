/* pserver_thread - a server in a thread of a process that does more: the shard of pworker(1) --shard. */
#include "pserver_thread.h"
#include "front.h"
#include "pserver_run.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/threads.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <openssl/crypto.h>

#define WAIT_S	3	/* a longer wait for the other workers is reported */

/* The thread of a process outlives the functions that start it, so that exit(3) can end it. */
static struct {
	struct pserver_run run;
	char		 name[32];
	pthread_t	 thread;
	bool		 running;	/* the thread is to be joined */
	pthread_mutex_t	 lock;		/* protects what follows */
	pthread_cond_t	 changed;
	bool		 listens, over;
	int		 err;		/* the error that ended it, or 0; and its line */
	char		 line[ERR_LINE];
	FILE		*rows;
	bool		 drops;		/* rows are not wanted */
	struct buf	 held;		/* rows for which there is no file yet */
} shard = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void
note_listening(void *arg, const char *where)
{
	(void)arg, (void)where;
	pthread_mutex_lock(&shard.lock);
	shard.listens = true;
	pthread_cond_signal(&shard.changed);
	pthread_mutex_unlock(&shard.lock);
}

/* The worker finds out itself that its file cannot be written. */
static void
write_shard_rows(void *arg, const char *rows, size_t n)
{
	(void)arg;
	pthread_mutex_lock(&shard.lock);
	if (shard.rows != NULL) {
		fwrite(rows, 1, n, shard.rows);
		fflush(shard.rows);
	} else if (!shard.drops && buf_put(&shard.held, rows, n) < 0) {
		front_warn(NULL, ERR_NOMEM);
	}
	pthread_mutex_unlock(&shard.lock);
}

void
pserver_thread_set_rows(FILE *rows)
{
	pthread_mutex_lock(&shard.lock);
	shard.rows = rows;
	shard.drops = rows == NULL;
	if (rows != NULL && shard.held.n > 0)
		fwrite(shard.held.p, 1, shard.held.n, rows);
	buf_free(&shard.held);
	pthread_mutex_unlock(&shard.lock);
}

static void *
run_shard(void *arg)
{
	int e = pserver_run(&shard.run);

	(void)arg;
	pthread_mutex_lock(&shard.lock);
	shard.err = e;
	snprintf(shard.line, sizeof(shard.line), "%s", err_line());
	shard.over = true;
	pthread_cond_signal(&shard.changed);
	pthread_mutex_unlock(&shard.lock);
	return NULL;
}

/* Ends it before exit(3) frees what it uses. */
static void
stop_shard(void)
{
	const uint64_t one = 1;

	if (!shard.running || pthread_equal(pthread_self(), shard.thread))
		return;
	(void)!write(shard.run.serve.stop_fd, &one, sizeof(one));
	pthread_join(shard.thread, NULL);
	shard.running = false;
}

/* The thread takes no signals, which are the worker's. */
static int
start_shard_thread(void)
{
	sigset_t all, before;
	int e;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	e = pthread_create(&shard.thread, NULL, run_shard, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (e != 0)
		return threads_fail(e, "the shard");
	shard.running = true;
	return 0;
}

/* Returns the error that ended it, with its line. */
static int
get_shard_error(void)
{
	if (shard.err < 0)
		err_note(0, "%s%s", shard.name, shard.line);
	return shard.err;
}

int
pserver_thread_start(const struct serve_opt *serve, const char *state)
{
	int e;

	snprintf(shard.name, sizeof(shard.name), "shard %u: ", serve->index);
	shard.run = (struct pserver_run){ .state = state, .name = shard.name, .listening = note_listening,
	    .log = { .write = write_shard_rows, .part = true }, .serve = *serve };
	if ((shard.run.serve.stop_fd = eventfd(0, EFD_CLOEXEC)) < 0)
		return err_sys("eventfd");
	/* exit(3) in another thread must not free what the connections of this one use. */
	OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
	ERR_TRY(start_shard_thread());
	if (atexit(stop_shard) != 0)
		return err_nomem();
	pthread_mutex_lock(&shard.lock);
	while (!shard.listens && !shard.over)
		pthread_cond_wait(&shard.changed, &shard.lock);
	e = get_shard_error();
	pthread_mutex_unlock(&shard.lock);
	return e;
}

int
pserver_thread_wait(void)
{
	struct timespec until;
	int e = 0;

	if (!shard.running)
		return 0;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += WAIT_S;
	pthread_mutex_lock(&shard.lock);
	while (!shard.over && e != ETIMEDOUT)
		e = pthread_cond_timedwait(&shard.changed, &shard.lock, &until);
	if (!shard.over)
		front_say("%swaiting for the other workers to end", shard.name);
	while (!shard.over)
		pthread_cond_wait(&shard.changed, &shard.lock);
	e = get_shard_error();
	pthread_mutex_unlock(&shard.lock);
	pthread_join(shard.thread, NULL);
	shard.running = false;
	return e;
}
