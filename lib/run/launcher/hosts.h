/*
 * hosts - a hosts file, read into a list of hosts with places for processes.
 *
 *	# a comment
 *	node1
 *	root@node2:2222  slots=2  addr=10.0.0.2
 *	[fe80::7]:22
 *
 * Each line names one host: the name for the remote shell, and its port if need be.  slots=N gives
 * the host N places; the default is 1.  addr=A is the address at which the other hosts reach it, if
 * that is not the one that ssh connects to.  `#` starts a comment; blank lines are ignored.
 *
 * Process i of a job runs on place i modulo the number of places, servers first, then workers
 * (dmlc-core, tracker/dmlc_tracker/ssh.py).  The places are all hosts in their order, then those
 * with a second slot, and so on.
 *
 * Ownership: struct hosts owns the texts until hosts_free.
 */
#ifndef RUN_LAUNCHER_HOSTS_H
#define RUN_LAUNCHER_HOSTS_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOSTS_MOST	4096u		/* most hosts in a file */
#define HOSTS_SLOTS	1024u		/* most slots of a host */
#define HOSTS_FILE	(4u << 20)	/* most bytes of a file */

struct host {
	const char	*login;		/* name or user@name that the remote shell gets, without brackets or port */
	const char	*name;		/* the same without user@ */
	uint16_t	 port;		/* port of the remote shell; 0: not given */
	uint32_t	 slots;
	const char	*addr;		/* NULL: not given */
	uint32_t	 line;		/* line of the file */
};

struct hosts {
	struct host	*host;		/* [n] */
	uint32_t	 n;
	uint32_t	 places;	/* sum of the slots */
	char		*text;
};

/*
 * Reads text [n]; file is its name in messages.  Returns 0, ERR_FORMAT or ERR_LIMIT (the error line
 * names file and line), or ERR_NOMEM.  After an error *h needs no free.
 */
int	 hosts_parse(const char *file, const void *text, size_t n, struct hosts *h);
void	 hosts_free(struct hosts *h);

/* Hosts that are lost to a job. */
struct hosts_loss {
	const bool	*gone;		/* [h->n] */
	uint32_t	 used;		/* hosts with a process; the others are spares */
	uint32_t	 servers, workers;
};

/*
 * Appends the lines of the text [n] that h was read from, without comments and without the hosts that are gone.  Spares
 * take their places, so that the other hosts keep their processes.  If there are too few of them, the hosts are ordered
 * so that those of workers have a worker again, as far as that is possible: copies of cuts are on their disks
 * (train/cut.h).  Returns 0 or ERR_NOMEM.
 */
int	 hosts_without(const struct hosts *h, const struct hosts_loss *loss, const void *text, size_t n,
    struct buf *to);

/* The index of the host that runs process i. */
uint32_t hosts_place(const struct hosts *h, uint32_t i);

#endif
