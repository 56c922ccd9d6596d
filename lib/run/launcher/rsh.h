/*
 * rsh - a remote shell by its name, or as a template of its own.
 *
 *	ssh	ssh(1), asking nobody anything: keys of hosts are checked, a dead link is noticed after 9 s
 *	slurm	a step of the allocation that we run in (srun(1)), whose hosts are those of the job
 *	mpi	mpirun(1) with one process, as Open MPI and MPICH have it
 *	kubectl	kubectl exec, the hosts being names of pods
 *
 * Anything else is the words of a template, see words_fill.
 */
#ifndef RUN_LAUNCHER_RSH_H
#define RUN_LAUNCHER_RSH_H

#include "base/buf.h"
#include "run/words.h"

#include <stdbool.h>

/*
 * Fills an empty template; {host} goes to the end when it is nowhere, *port says whether {port} is somewhere.
 * Returns 0, ERR_FORMAT, ERR_LIMIT or ERR_NOMEM.
 */
int	 rsh_words(const char *name, struct words *tpl, bool *port);
/*
 * Appends the text of a hosts file (run/launcher/hosts.h) with the hosts that this shell knows of itself: 1; 0 when it knows
 * none, as outside an allocation; ERR_FORMAT, ERR_LIMIT or ERR_NOMEM.
 */
int	 rsh_hosts(const char *name, struct buf *text);

#endif
