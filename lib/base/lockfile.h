/*
 * lockfile - one of many processes makes a file while the others wait for it.
 *
 *	if ((e = lockfile_acquire(path, 0, waiting, arg, &o)) > 0)
 *		the file exists;
 *	else if (e == 0) {
 *		make it, calling lockfile_touch(o) now and then, and rename() it to path;
 *		lockfile_release(o);
 *	}
 *
 * The process that makes PATH holds PATH.lock, which contains "HOST PID".  link() creates the lock complete, which also
 * works on network file systems.
 * A lock is stale if its process ran on this host and is gone, or if nobody touched the lock for silent_s.  The next
 * process then locks PATH.lock.1, and so on: no process ever removes a lock that another may still hold.  The holder of
 * the last lock removes them all.  If a process that seemed dead continues, the file is made twice.
 */
#ifndef BASE_LOCKFILE_H
#define BASE_LOCKFILE_H

#include "base/buf.h"

#define LOCKFILE_SILENT_S	30.0	/* the default of silent_s */
#define LOCKFILE_NAME	128	/* bytes of a holder's name, with its zero */

struct lockfile;

/* Called with "process PID on HOST" when the wait starts, and when another process takes the lock.  May be NULL. */
typedef void lockfile_waiting(void *arg, const char *holder);

/*
 * Returns 1 if the file exists, perhaps after a wait; 0 if the caller is to make it, with *o as its lock; ERR_SYS or
 * ERR_NOMEM.  silent_s is in seconds; 0: LOCKFILE_SILENT_S.
 */
int	 lockfile_acquire(const char *path, double silent_s, lockfile_waiting *waiting, void *arg, struct lockfile **o);
/* Shows that the holder is alive.  Call it at least every few seconds. */
void	 lockfile_touch(struct lockfile *o);
/* Removes the lock, whether or not the file was made.  NULL is fine. */
void	 lockfile_release(struct lockfile *o);

#endif
