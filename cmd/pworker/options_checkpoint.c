/* options_checkpoint - the file that weights come from, and the checkpoints that are written. */
#include "pworker/pworker.h"
#include "front.h"
#include "front_wait.h"

#include "base/err.h"
#include "base/io.h"
#include "source/suffix.h"
#include "tensor/tensors.h"
#include "train/checkpoint_find.h"
#include "train/cut.h"
#include "train/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char checkpoint_help[] =
    "usage: pworker ... [options for checkpoints and initial weights]\n"
    "  --save PREFIX        write PREFIX-EEEE.safetensors after each epoch\n"
    "  --keep N             remove all but the newest N\n"
    "  --best               keep the best by validation, too: PREFIX-best.safetensors\n"
    "  --patience N         end after N epochs without a better validation\n"
    "  --cut K              make a cut every K steps for a job that is lost (0: none)\n"
    "  --cut-dir DIR        write cuts to DIR, not beside PREFIX\n"
    "  --cut-copies N       have N more workers write them, to disks of their own\n"
    "  --resume FILE.safetensors  continue from a checkpoint\n"
    "  --resume-last        continue from the newest one of --save, if any\n"
    "  --start FILE         take the weights that fit by name and shape\n"
    "  --start-rename REGEX=TEXT  rename them first; again for more\n"
    "  --state FILE         keep what this worker needs if it is started again\n"
    "  --shard-state FILE   the same for its shard, which listens on --shard-fd N\n";

static void
add_start_rename(struct pworker *p, const char *option, char *rule)
{
	if (p->start_rename == NULL && rename_new(&p->start_rename) < 0)
		front_die(option, ERR_NOMEM);
	if (rename_add(p->start_rename, rule) < 0)
		front_wrong("%s: %s", option, err_line());
	p->train.start_rename = p->start_rename;
}

static const struct pworker_option checkpoint_options[] = {
	{ "best", PWORKER_FLAG, PWORKER_MEMBER(train.best), .needs = NEED_TRAINING },
	{ "cut", PWORKER_WHOLE, PWORKER_MEMBER(train.cut), 0, UINT32_MAX, .needs = NEED_TRAINING | NEED_FILE },
	{ "cut-copies", PWORKER_WHOLE, PWORKER_MEMBER(train.cut_copies), 0, UINT32_MAX,
	    .needs = NEED_TRAINING | NEED_FILE },
	{ "cut-dir", PWORKER_TEXT, PWORKER_MEMBER(cut_dir), .needs = NEED_TRAINING | NEED_FILE },
	{ "help-keep", PWORKER_HELP, .text = checkpoint_help },
	{ "keep", PWORKER_WHOLE, PWORKER_MEMBER(train.keep), 1, UINT32_MAX, .needs = NEED_TRAINING },
	{ "patience", PWORKER_WHOLE, PWORKER_MEMBER(train.patience), 1, UINT32_MAX, .needs = NEED_TRAINING },
	{ "resume", PWORKER_TEXT, PWORKER_MEMBER(train.resume), .needs = NEED_TRAINING },
	{ "resume-last", PWORKER_FLAG, PWORKER_MEMBER(resume_last), .needs = NEED_TRAINING },
	{ "save", PWORKER_TEXT, PWORKER_MEMBER(train.save), .needs = NEED_TRAINING },
	{ "start", PWORKER_TEXT, PWORKER_MEMBER(train.start), .needs = NEED_TRAINING },
	{ "start-rename", PWORKER_VALUE, .apply = add_start_rename, .needs = NEED_FOREIGN },
	{ 0 }
};

/* The prefix of cuts.  Without one there are none. */
static void
settle_cuts(struct pworker *p)
{
	struct train_opt *t = &p->train;
	const char *base = t->save != NULL ? io_base_name(t->save) : NULL;

	t->from_cut = t->resume != NULL && strstr(io_base_name(t->resume), CUT_INFIX) != NULL;
	if (base != NULL && strstr(base, CUT_INFIX) != NULL)
		front_wrong("--save: %s: a name with '" CUT_INFIX "' is that of a cut", t->save);
	t->no_cuts = pworker_given(p, "cut") && t->cut == 0;
	if (t->cut_copies > 0 && t->ps.slack != STALE_SYNC)
		front_wrong("--cut-copies: needs a synchronous job");
	if (t->cut_copies > 0 && t->no_cuts)
		front_wrong("--cut-copies: there are none with --cut 0");
	if (t->save == NULL)
		return;
	if ((p->cuts = cut_prefix(t->save, p->cut_dir)) == NULL)
		front_die("--cut", err_nomem());
	t->cuts = p->cuts;
}

/* Refuses a folder.  Proposes a file for a name without its end, as the PREFIX of --save: its newest checkpoint. */
static void
check_weights_name(const char *option, const char *path)
{
	struct checkpoint_name *names = NULL;
	char whole[PATH_MAX], *file = NULL;
	struct stat st;
	size_t n = 0;

	if (path != NULL && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		front_wrong("--%s: %s: is a folder; name a file of weights", option, path);
	if (path == NULL || access(path, F_OK) == 0)
		return;
	if (snprintf(whole, sizeof(whole), "%s.safetensors", path) < (int)sizeof(whole) && access(whole, F_OK) == 0)
		front_wrong("--%s: %s: no such file; did you mean %s?", option, path, whole);
	if (checkpoint_list(path, UINT64_MAX, UINT64_MAX, &names, &n) == 0 && n > 0)
		file = checkpoint_path(path, &names[0]);
	free(names);
	if (file != NULL)
		front_wrong("--%s: %s: no such file; the newest with this prefix is %s", option, path, file);
}

static void
check_save(const char *save)
{
	const char *name = io_base_name(save);

	if (suffix_is(save, strlen(save), ".safetensors"))
		front_wrong("--save: %s: is a PREFIX, to which the epoch and .safetensors are added; leave the suffix "
		    "out", save);
	if (*name == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		front_wrong("--save: %s: is a folder; add the first part of the files' names, as in %s%smodel", save,
		    save, *name == 0 ? "" : "/");
}

static void
settle_checkpoint_options(struct pworker *p)
{
	if (p->train.save != NULL)
		check_save(p->train.save);
	if (p->resume_last && p->train.save == NULL)
		front_wrong("--resume-last: needs --save");
	if (p->train.keep > 0 && p->train.save == NULL)
		front_wrong("--keep: needs --save");
	for (const char *const *o = (const char *const[]){ "cut", "cut-copies", "cut-dir", NULL }; *o != NULL; o++)
		if (pworker_given(p, *o) && p->train.save == NULL)
			front_wrong("--%s: needs --save", *o);
	if (p->train.resume != NULL && p->train.start != NULL && pworker_given(p, "start") == PWORKER_GIVEN)
		front_wrong("--start: does not go with --resume, which has weights of its own");
	if (p->train.resume != NULL && pworker_given(p, "init") == PWORKER_GIVEN)
		front_wrong("--init: does not go with --resume, which has weights of its own");
	check_weights_name("resume", p->train.resume);
	check_weights_name("start", p->train.start);
	check_weights_name(p->mode == PWORKER_EVAL ? "eval" : p->mode == PWORKER_PREDICT ? "predict" : "statistics",
	    p->weights);
	settle_cuts(p);
	if (p->train.best && (p->train.save == NULL || p->train.val == NULL))
		front_wrong("--best: needs --save and --val");
	if (p->train.patience > 0 && p->train.val == NULL)
		front_wrong("--patience: needs --val");
}

const struct pworker_theme pworker_checkpoint_theme = { checkpoint_options, settle_checkpoint_options };

/* The descriptor that a path names, or -1. */
static int
find_descriptor(const char *path)
{
	int fd, end = 0;

	if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdin") == 0)
		return STDIN_FILENO;
	if ((sscanf(path, "/dev/fd/%9d%n", &fd, &end) == 1 || sscanf(path, "/proc/self/fd/%9d%n", &fd, &end) == 1) &&
	    fd >= 0 && path[end] == 0)
		return fd;
	return -1;
}

/* Whether images or records are to come from standard input. */
static bool
reads_input(const struct pworker *p)
{
	bool found = (p->mode == PWORKER_EVAL || p->mode == PWORKER_PREDICT) && p->train.data.path == NULL &&
	    p->nimage == 0 && !isatty(STDIN_FILENO);

	for (size_t i = 0; i < p->nimage; i++)
		found |= strcmp(p->image[i], "-") == 0;
	return found || (p->train.data.path != NULL && strcmp(p->train.data.path, "-") == 0);
}

/*
 * Replaces a descriptor of standard input or of the shell by a file, which its path then names.  A named pipe is given
 * the name of a descriptor.
 */
static const char *
hold_pipe(struct pworker *p, const char *path)
{
	int named = find_descriptor(path), fd;
	struct tensors t;

	front_wait_read(path);
	front_must(NULL, tensors_open(&t, path));
	front_wait_end();
	if ((fd = fcntl(t.fd, F_DUPFD_CLOEXEC, 0)) < 0 || (named >= 0 && dup2(fd, named) < 0))
		front_die(path, err_sys("dup"));
	tensors_close(&t);
	if (named >= 0)
		close(fd);
	snprintf(p->held, sizeof(p->held), "/dev/fd/%d", named >= 0 ? named : fd);
	return named > STDIN_FILENO ? path : named == STDIN_FILENO ? "/dev/stdin" : p->held;
}

void
pworker_hold_weights(struct pworker *p)
{
	const char **path = p->weights != NULL ? &p->weights :
	    p->train.resume != NULL ? &p->train.resume : &p->train.start;
	struct stat st;
	int r;

	/* Of a job only the worker that sends the first weights reads them. */
	if (*path == NULL || p->train.ps.nworkers > 1 || p->train.ps.nservers > 0)
		return;
	if (find_descriptor(*path) == STDIN_FILENO && reads_input(p))
		front_wrong("weights and images cannot both come from standard input; name a file for one of them");
	r = strcmp(*path, "-") == 0 ? fstat(STDIN_FILENO, &st) : stat(*path, &st);
	if (r == 0 && S_ISREG(st.st_mode) && strcmp(*path, "-") == 0)
		*path = "/dev/stdin";
	else if (r == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		*path = hold_pipe(p, *path);
}

static void
report_refused_cut(const char *why)
{
	front_say("%s; it is not used", why);
}

/* A run that does not continue the newest checkpoint replaces those of another by and by, and leaves the later ones. */
static void
report_other_run(const struct train_opt *t)
{
	struct checkpoint_name *names = NULL;
	size_t n = 0;
	char *newest;

	if (t->save == NULL || t->ps.rank > 0)
		return;
	front_must("--save", checkpoint_list(t->save, UINT64_MAX, UINT64_MAX, &names, &n));
	if (n > 0) {
		if ((newest = checkpoint_path(t->save, &names[0])) == NULL)
			front_die(NULL, err_nomem());
		if (t->resume == NULL || !io_is_same(t->resume, newest))
			front_say("--save %s: %s is of another run, which --resume-last would continue; this run "
			    "replaces its files epoch by epoch", t->save, newest);
		free(newest);
	}
	free(names);
}

/*
 * A run without a checkpoint starts as it does without the option.  Workers that do not load the checkpoint prepare
 * images as it says, as with --resume, if their host has it.  A worker that was started again within a run goes
 * on from its memory, and takes only preprocessing and classes from the checkpoint: the others wait for it meanwhile.
 */
void
pworker_find_last(struct pworker *p)
{
	struct train_opt *t = &p->train;
	uint64_t step;
	bool again = kept_began(t->kept, &step);
	int e;

	t->resumes_last = p->resume_last;
	if (!p->resume_last && !again)
		report_other_run(t);
	if (!p->resume_last)
		return;
	e = cut_find(t->save, t->cuts, train_run_id(t), again || (t->ps.rank > 0 && t->cut_copies == 0) ? NULL :
	    report_refused_cut, &t->resume_at, &p->found);
	front_must("--resume-last", e);
	if (e > 0)
		t->resume = p->found;
	t->from_cut = e == 2;
}
