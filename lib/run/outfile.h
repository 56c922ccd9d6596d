/*
 * outfile - what the processes of a job print, in files of their own in one directory.
 *
 *	DIR/worker-0.out	its output
 *	DIR/worker-0.err	its errors
 *
 * Threads: no state; a file is open for a call only, so that a job may have more of them than descriptors.
 */
#ifndef RUN_OUTFILE_H
#define RUN_OUTFILE_H

#include "run/job.h"

/* Makes the directory, and those above it, where they are not there.  Returns 0, ERR_LIMIT or ERR_SYS. */
int	 outfile_dir(const char *dir);
/* Makes a process's files, or empties them.  Returns 0 or ERR_SYS. */
int	 outfile_begin(const char *dir, const struct job_child *who);
/* Appends to one of them.  Returns 0 or ERR_SYS; the line names the file. */
int	 outfile_put(const char *dir, const struct job_child *who, bool out, const char *text, size_t n);
/* The size of one; 0 where it is not there. */
uint64_t outfile_size(const char *dir, const struct job_child *who, bool out);
/* Cuts one that is longer there.  Returns 0 or ERR_SYS. */
int	 outfile_cut(const char *dir, const struct job_child *who, bool out, uint64_t size);

#endif
