/*
 * last - the newest checkpoint of a run, by its name.
 *
 *	PREFIX-EEEE.safetensors		after EEEE epochs
 *	PREFIX-EEEE-SSSSSS.safetensors	and SSSSSS steps of the next
 *
 * Files appear under these names when they are whole, so the newest is a whole one (ps/train.h).
 * Threads: no state.
 */
#ifndef PS_LAST_H
#define PS_LAST_H

/* 1: *path, to be freed, has the most epochs, then steps; 0: there is none, nor maybe its directory; ERR_SYS, ERR_NOMEM. */
int	 last_find(const char *prefix, char **path);

#endif
