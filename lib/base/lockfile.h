/*
 * lockfile - a file that one of many processes makes while the others wait for it.
 *
 *	if ((e = lockfile_acquire(&o, path, 0, waiting, arg)) > 0)
 *		the file is there;
 *	else if (e == 0) {
 *		make it, calling lockfile_touch(o) now and then, and give it its name by rename();
 *		lockfile_release(o);
 *	}
 *
 * Who makes PATH holds PATH.lock, a line "HOST PID" that link() put there whole, so that it works on network file systems.
 * A lock is dead when its process ran on this host and is gone, or when the lock was not touched for silent_s; then
 * PATH.lock.1 is held instead, and so on: no lock is ever taken from under somebody's hands.  Who leaves the last one
 * removes them all.  Should a process that seemed dead go on, the file is made twice.
 */
#ifndef BASE_LOCKFILE_H
#define BASE_LOCKFILE_H

#include "base/buf.h"

#define LOCKFILE_SILENT_S	30.0	/* silent_s where that is 0 */
#define LOCKFILE_NAME	128	/* bytes of a holder's name, its zero counted */

struct lockfile;

/* waiting(arg, "process PID on HOST") tells who is waited for, as soon as it is known and when it is another.  May be NULL. */
typedef void lockfile_waiting(void *arg, const char *whom);

/*
 * 1 when the file is there, perhaps after waiting; 0 when the caller is to make it, and *o is its lock; ERR_SYS, ERR_NOMEM.
 */
int	 lockfile_acquire(struct lockfile **o, const char *path, double silent_s, lockfile_waiting *waiting, void *arg);
/* Shows that the holder lives; to be called every few seconds or more often. */
void	 lockfile_touch(struct lockfile *o);
/* When the file is there, or will not be.  NULL is fine. */
void	 lockfile_release(struct lockfile *o);

#endif
