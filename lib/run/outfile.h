/*
 * outfile - the output of a job's processes, in two files a process in one directory.
 *
 *	DIR/worker-0.out	its standard output
 *	DIR/worker-0.err	its standard error
 *
 * Threads: no state.  A file is open only during a call, so that a job may have more files than
 * descriptors.
 */
#ifndef RUN_OUTFILE_H
#define RUN_OUTFILE_H

#include "run/job.h"

/* Makes the directory and its missing parents.  Returns 0, ERR_LIMIT or ERR_SYS. */
int	 outfile_dir(const char *dir);
/* Makes the files of a process, or empties them.  Returns 0 or ERR_SYS. */
int	 outfile_begin(const char *dir, const struct job_child *who);
/* Appends to one of them.  Returns 0 or ERR_SYS; the error line names the file. */
int	 outfile_put(const char *dir, const struct job_child *who, bool out, const char *text, size_t n);
/* The size of one in bytes; 0 if it does not exist. */
uint64_t outfile_size(const char *dir, const struct job_child *who, bool out);
/* Truncates one that is longer than `size` bytes.  Returns 0 or ERR_SYS. */
int	 outfile_cut(const char *dir, const struct job_child *who, bool out, uint64_t size);

#endif
