/* checkpoint - the checkpoint writer: a thread of its own, so that no step waits for the disk. */
#include "train/checkpoint.h"
#include "base/clk.h"
#include "base/err.h"
#include "base/io.h"
#include "base/threads.h"
#include "train/checkpoint_find.h"
#include "train/cut.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define BLOCK	(1u << 20)	/* bytes of a copy at once */
#define SLACK	(256u << 10)	/* bytes of a file beside its arrays, at most about */

struct checkpoint {
	struct checkpoint_opt	 o;
	float		*w, *aux, *state, *average;
	bool		 with_average;
	struct tensors_meta *meta;	/* [nmeta], copies */
	uint32_t	 nmeta;
	bool		 cut;
	uint64_t	 epoch, at;
	char		 path[CHECKPOINT_PATH], best[CHECKPOINT_PATH];
	/* Under the lock: */
	pthread_mutex_t	 lock;
	pthread_cond_t	 change;
	bool		 save, link, end;	/* what is still to be done, in this order */
	bool		 written;		/* not reported yet */
	double		 seconds;		/* the last one took */
	int		 e;			/* error that is not reported yet, and its line */
	char		 why[ERR_LINE];
	pthread_t	 thread;
};

static int
copy_checkpoint(const char *from, const char *to)
{
	int fd = open(from, O_RDONLY | O_CLOEXEC), e;
	uint8_t *block = malloc(BLOCK);
	struct io_new f;
	size_t n = 1;

	if (fd < 0 || block == NULL) {
		e = fd < 0 ? err_sys("open %s", from) : err_nomem();
	} else if ((e = io_create(&f, to)) == 0) {
		while (n > 0 && (e = io_read(fd, block, BLOCK, &n)) == 0)
			if ((e = io_write(f.fd, block, n)) < 0)
				break;
		if (e == 0)
			e = io_commit(&f);
		else
			io_abandon(&f);
	}
	if (fd >= 0)
		close(fd);
	free(block);
	return err_wrap(e, "%s", to);
}

/* Makes a hard link, or a copy if the file system has no links or the best is on another one. */
static int
link_best(const struct checkpoint *k)
{
	char tmp[CHECKPOINT_PATH + 16];
	int e = 0;

	snprintf(tmp, sizeof(tmp), "%s.%d.tmp", k->best, (int)getpid());
	unlink(tmp);
	if (link(k->path, tmp) < 0)
		return copy_checkpoint(k->path, k->best);
	if (rename(tmp, k->best) < 0)
		e = err_sys("%s", k->best);
	unlink(tmp);	/* rename() leaves it if both names are the same file */
	return e;
}

/* Writes the file.  Returns ERR_LIMIT if its file system is full, else as weights_save. */
static int
save_weights(const struct checkpoint *k)
{
	int e = weights_save(k->path, &(struct weights_content){ .graph = k->o.graph, .w = k->w, .aux = k->aux,
	    .state = k->o.state ? k->state : NULL, .rule = k->o.rule, .average = k->with_average ? k->average : NULL,
	    .mean_image = k->o.mean_image, .meta = k->meta, .nmeta = k->nmeta });

	return e == ERR_SYS && (errno == ENOSPC || errno == EDQUOT) ? ERR_LIMIT : e;
}

/* The directory of a path. */
static void
get_folder(const char *path, char folder[CHECKPOINT_PATH])
{
	const char *slash = strrchr(path, '/');

	snprintf(folder, CHECKPOINT_PATH, "%.*s", slash != NULL ? (int)(slash - path + 1) : 1,
	    slash != NULL ? path : ".");
}

/* Whether the cuts are in the file system of the checkpoints. */
static bool
cuts_are_beside(const struct checkpoint *k)
{
	char of_cuts[CHECKPOINT_PATH], folder[CHECKPOINT_PATH];
	struct stat a, b;

	if (k->o.cuts == NULL)
		return false;
	get_folder(k->o.cuts, of_cuts);
	get_folder(k->path, folder);
	return stat(of_cuts, &a) == 0 && stat(folder, &b) == 0 && a.st_dev == b.st_dev;
}

/* Whether the file fits once the older ones are removed, which frees `bytes`. */
static bool
fits_after_removal(const struct checkpoint *k, uint64_t bytes)
{
	const struct graph *g = k->o.graph;
	const struct graph_node *x = &g->node[0];
	uint64_t need = SLACK + sizeof(float) * (g->P * (1 + opt_states(k->o.rule)) + g->A +
	    (k->with_average ? g->P + g->A : 0) + (k->o.mean_image != NULL ? (uint64_t)x->c * x->h * x->w : 0));
	char folder[CHECKPOINT_PATH];
	struct statvfs fs;

	get_folder(k->path, folder);
	return bytes > 0 && statvfs(folder, &fs) == 0 && fs.f_bavail * fs.f_frsize + bytes >= need;
}

/* Checkpoints up to this one that it replaces. */
static uint32_t
count_replaced(const struct checkpoint *k)
{
	struct checkpoint_name *names;
	size_t n;

	if (checkpoint_list(k->o.prefix, k->epoch, k->at, &names, &n) < 0)
		return 0;
	free(names);
	return n < k->o.most ? (uint32_t)n : k->o.most;
}

/*
 * On a full file system, first removes those that this one replaces anyway: cuts, then the oldest checkpoints.  The
 * last one goes only if this one fits then.
 */
static int
write_checkpoint(const struct checkpoint *k)
{
	uint64_t from = trace_now(k->o.trace), bytes;
	int e = save_weights(k);

	if (e == ERR_LIMIT && cuts_are_beside(k) && fits_after_removal(k, cut_bytes(k->o.cuts, k->o.run))) {
		(void)cut_prune(k->o.cuts, k->o.run, 0, 0, 0);
		e = save_weights(k);
	}
	for (uint32_t left = e == ERR_LIMIT ? count_replaced(k) : 0; left-- > 0 && e == ERR_LIMIT;) {
		bytes = checkpoint_bytes(k->o.prefix, k->epoch, k->at);
		if ((left > 0 || fits_after_removal(k, bytes)) &&
		    checkpoint_prune(k->o.prefix, k->epoch, k->at, left) == 0)
			e = save_weights(k);
	}
	trace_span(k->o.trace, TRACE_CHECKPOINTS, from, "write");
	return e;
}

/* A cut that cannot be sealed is of no use. */
static int
save_cut(const struct checkpoint *k)
{
	const struct cut_manifest m = { .run = k->o.run, .epoch = k->epoch, .step = k->at };
	int e = save_weights(k);

	if (e == 0 && (e = cut_seal(k->path, &m)) < 0)
		unlink(k->path);
	return e;
}

/* On a full file system only the newest cut stays meanwhile. */
static int
write_cut(const struct checkpoint *k)
{
	uint64_t from = trace_now(k->o.trace);
	int e = save_cut(k);

	if (e == ERR_LIMIT) {
		(void)cut_prune(k->o.cuts, k->o.run, k->epoch, k->at, 1);
		e = save_cut(k);
	}
	trace_span(k->o.trace, TRACE_CHECKPOINTS, from, "write cut");
	return e;
}

/* Removes those that the new one replaces.  Returns 0 or ERR_ITEM. */
static int
remove_older(const struct checkpoint *k)
{
	int e = 0;

	if (k->cut)
		e = cut_prune(k->o.cuts, k->o.run, k->epoch, k->at, CUT_KEPT);
	else if (k->o.most > 0)
		e = checkpoint_prune(k->o.prefix, k->epoch, k->at, k->o.most);
	err_wrap(e, "cannot remove an older %s", k->cut ? "cut" : "checkpoint");
	return e < 0 ? ERR_ITEM : 0;
}

static void *
run_checkpoint_writer(void *arg)
{
	struct checkpoint *k = arg;
	double from;
	int e, saved;

	pthread_mutex_lock(&k->lock);
	for (;;) {
		while (!k->save && !k->link && !k->end)
			pthread_cond_wait(&k->change, &k->lock);
		if (!k->save && !k->link)
			break;
		bool saving = k->save;

		pthread_mutex_unlock(&k->lock);
		from = clk_s();
		saved = !saving ? 0 : k->cut ? write_cut(k) : write_checkpoint(k);
		if (saving)
			e = saved < 0 ? saved : remove_older(k);
		else
			e = err_wrap(link_best(k), "cannot keep the best checkpoint") < 0 ? ERR_ITEM : 0;
		pthread_mutex_lock(&k->lock);
		if (saving)
			k->save = false;
		else
			k->link = false;
		k->seconds = saving ? clk_s() - from : k->seconds;
		k->written |= saving && !k->cut && saved == 0;
		k->link &= saved == 0;	/* else there is no file to link */
		if (e < 0) {
			k->e = e;
			snprintf(k->why, sizeof(k->why), "%s", err_line());
		}
		pthread_cond_broadcast(&k->change);
	}
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

static void
free_checkpoint(struct checkpoint *k)
{
	pthread_mutex_destroy(&k->lock);
	pthread_cond_destroy(&k->change);
	free(k->w);
	free(k->aux);
	free(k->state);
	free(k->average);
	free(k);
}

int
checkpoint_open(const struct checkpoint_opt *opt, struct checkpoint **to)
{
	size_t P = opt->graph->P, A = opt->graph->A;
	struct checkpoint *k = calloc(1, sizeof(*k));
	int e;

	if (k == NULL)
		return err_nomem();
	k->o = *opt;
	k->w = calloc(P, sizeof(float));
	k->aux = calloc(A > 0 ? A : 1, sizeof(float));
	k->state = calloc(P * opt_states(opt->rule) + 1, sizeof(float));
	k->average = opt->average ? calloc(P + A + 1, sizeof(float)) : NULL;
	snprintf(k->best, CHECKPOINT_PATH, "%s-best.safetensors", opt->prefix);
	checkpoint_clean(opt->prefix);
	if (opt->cuts != NULL)
		checkpoint_clean(opt->cuts);
	pthread_mutex_init(&k->lock, NULL);
	pthread_cond_init(&k->change, NULL);
	if (k->w == NULL || k->aux == NULL || k->state == NULL || (k->average == NULL && opt->average)) {
		e = err_nomem();
	} else if ((e = pthread_create(&k->thread, NULL, run_checkpoint_writer, k)) != 0) {
		e = threads_fail(e, "checkpoints");
	} else {
		*to = k;
		return 0;
	}
	free_checkpoint(k);
	return e;
}

static void
drop_meta(struct checkpoint *k)
{
	for (uint32_t i = 0; i < k->nmeta; i++) {
		free(k->meta[i].key);
		free(k->meta[i].value);
	}
	free(k->meta);
	k->meta = NULL;
	k->nmeta = 0;
}

static void
wait_for_writer(struct checkpoint *k)
{
	pthread_mutex_lock(&k->lock);
	while (k->save || k->link)
		pthread_cond_wait(&k->change, &k->lock);
	pthread_mutex_unlock(&k->lock);
}

void
checkpoint_close(struct checkpoint *k)
{
	if (k == NULL)
		return;
	pthread_mutex_lock(&k->lock);
	k->end = true;
	pthread_cond_broadcast(&k->change);
	pthread_mutex_unlock(&k->lock);
	pthread_join(k->thread, NULL);
	drop_meta(k);
	free_checkpoint(k);
}

void
checkpoint_room(struct checkpoint *k, float **w, float **aux, float **state, float **average)
{
	wait_for_writer(k);
	*w = k->w;
	*aux = k->aux;
	*state = k->state;
	*average = k->average;
}

int
checkpoint_put(struct checkpoint *k, enum checkpoint_kind kind, uint64_t epoch, uint64_t at, bool average,
    const struct tensors_meta *meta, uint32_t n)
{
	const char *prefix = kind == CHECKPOINT_CUT ? k->o.cuts : k->o.prefix;
	char *path;

	k->cut = kind == CHECKPOINT_CUT;
	k->with_average = average;
	drop_meta(k);
	if ((k->meta = calloc(n, sizeof(*k->meta))) == NULL)
		return err_nomem();
	for (; k->nmeta < n; k->nmeta++) {
		struct tensors_meta *m = &k->meta[k->nmeta];

		m->key = strdup(meta[k->nmeta].key);
		m->value = strdup(meta[k->nmeta].value);
		if (m->key == NULL || m->value == NULL) {
			free(m->key);
			free(m->value);
			return err_nomem();
		}
	}
	if ((path = checkpoint_path(prefix, &(struct checkpoint_name){ epoch, at })) == NULL)
		return err_nomem();
	snprintf(k->path, CHECKPOINT_PATH, "%s", path);
	free(path);
	k->epoch = epoch;
	k->at = at;
	pthread_mutex_lock(&k->lock);
	k->save = true;
	k->link = kind == CHECKPOINT_BEST;	/* a later request could come after the writer has failed */
	pthread_cond_broadcast(&k->change);
	pthread_mutex_unlock(&k->lock);
	return 0;
}

const char *
checkpoint_best(const struct checkpoint *k)
{
	return k->best;
}

double
checkpoint_seconds(struct checkpoint *k)
{
	double s;

	pthread_mutex_lock(&k->lock);
	s = k->seconds;
	pthread_mutex_unlock(&k->lock);
	return s;
}

int
checkpoint_done(struct checkpoint *k, bool wait, uint64_t *epoch, uint64_t *at, char path[CHECKPOINT_PATH])
{
	int e;

	if (wait)
		wait_for_writer(k);
	pthread_mutex_lock(&k->lock);
	e = k->written ? 1 : k->e;
	if (e > 0) {
		*epoch = k->epoch;
		*at = k->at;
		memcpy(path, k->path, CHECKPOINT_PATH);
		k->written = false;
	} else if (e < 0) {
		err_note(0, "%s", k->why);
		k->e = 0;
	}
	pthread_mutex_unlock(&k->lock);
	return e;
}
