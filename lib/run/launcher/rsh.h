/*
 * rsh - the command line of a remote shell, given by a name or a template.
 *
 *	ssh	ssh(1) without questions; it checks host keys, and notices a dead link after the job's silence
 *	slurm	a step of the surrounding allocation (srun(1)), whose hosts are those of the job
 *	mpi	mpirun(1) with one process, of Open MPI or MPICH
 *	kubectl	kubectl exec; hosts are names of pods
 *
 * Any other text is a template, see words_fill.
 */
#ifndef RUN_LAUNCHER_RSH_H
#define RUN_LAUNCHER_RSH_H

#include "base/buf.h"
#include "run/words.h"

#include <stdbool.h>

/*
 * Fills an empty template for a job that gives a host up after so much silence.  {host} is added at the
 * end if the text does not contain it.  *port says whether it contains {port}.  Returns 0, ERR_FORMAT,
 * ERR_LIMIT or ERR_NOMEM.
 */
int	 rsh_words(const char *name, double silence_s, struct words *tpl, bool *port);
/*
 * Appends the hosts that this shell itself knows, as the text of a hosts file
 * (run/launcher/hosts.h).  Returns 1; 0 if it knows none, as outside an allocation; ERR_FORMAT,
 * ERR_LIMIT or ERR_NOMEM.
 */
int	 rsh_hosts(const char *name, struct buf *text);

#endif
