/*
 * hosts - a hosts file turned into hosts, and processes into places on them.
 *
 *	# a comment
 *	node1
 *	root@node2:2222  slots=2  addr=10.0.0.2
 *	[fe80::7]:22
 *
 * A host a line: the name that the remote shell is given, with a port for it
 * if need be; slots=N counts it N times (1); addr=A is the address at which
 * the other hosts reach it, when that is not the one that ssh came in by.
 * `#` starts a comment, blank lines are nothing.
 *
 * Process i of a job runs on place i modulo the places, servers first, then
 * workers (dmlc-core, tracker/dmlc_tracker/ssh.py).  The places are all hosts
 * in their order, then those with a second slot, and so on.
 *
 * Ownership: the texts belong to the hosts, until hosts_free.
 */
#ifndef RUN_LAUNCHER_HOSTS_H
#define RUN_LAUNCHER_HOSTS_H

#include <stddef.h>
#include <stdint.h>

#define HOSTS_MOST	4096u		/* hosts in a file */
#define HOSTS_SLOTS	1024u		/* slots of a host */
#define HOSTS_FILE	(4u << 20)	/* bytes of a file */

struct host {
	const char	*login;		/* what the remote shell is given: name or user@name, without brackets or port */
	const char	*name;		/* the same without user@ */
	uint16_t	 port;		/* of the remote shell; 0: not said */
	uint32_t	 slots;
	const char	*addr;		/* NULL: not said */
	uint32_t	 line;		/* of the file */
};

struct hosts {
	struct host	*host;		/* [n] */
	uint32_t	 n;
	uint32_t	 places;	/* sum of the slots */
	char		*text;
};

/*
 * Reads text [n]; file is its name in messages.  Returns 0, ERR_FORMAT or
 * ERR_LIMIT (the line names file and line), ERR_NOMEM; *h then needs no free.
 */
int	 hosts_parse(struct hosts *h, const char *file, const void *text, size_t n);
/* The same for a file, "-" being the standard input; ERR_SYS too. */
int	 hosts_read(struct hosts *h, const char *path);
void	 hosts_free(struct hosts *h);

/* The index of the host that runs process i. */
uint32_t hosts_place(const struct hosts *h, uint32_t i);

#endif
