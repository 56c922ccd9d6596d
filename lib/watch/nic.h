/*
 * nic - the counters of this machine's network interfaces.
 *
 * Over netlink: RTM_GETLINK with IFLA_STATS64, 64 bits wide in every kernel since 2.6.35 (rtnetlink(7)), and
 * RTM_GETROUTE. Threads: one at a time.
 */
#ifndef WATCH_NIC_H
#define WATCH_NIC_H

#include "watch/traffic.h"

#define NIC_NAME	16	/* bytes of a name, its zero counted: IFNAMSIZ */

struct nic;

/* An interface as it is now. */
struct nic_link {
	int	 index;		/* another one when it went away and came back */
	char	 name[NIC_NAME];
	struct traffic traffic;	/* since it came up; bytes are those of whole frames */
};

/* Returns 0, ERR_SYS or ERR_NOMEM. */
int	 nic_open(struct nic **n);
void	 nic_close(struct nic *n);	/* NULL is fine */

/* Returns 1, 0 when there is no such interface, ERR_SYS, ERR_FORMAT. */
int	 nic_read(struct nic *n, const char *name, struct nic_link *l);
/*
 * The interface that packets for the rest of the world leave by.  Returns 1, 0 when there is none,
 * ERR_SYS, ERR_FORMAT.
 */
int	 nic_default(struct nic *n, char name[NIC_NAME]);
/* Appends "lo, eth0".  Returns 0, ERR_SYS, ERR_FORMAT, ERR_NOMEM. */
int	 nic_names(struct nic *n, struct buf *out);

/* One RTM_NEWLINK message of n bytes.  Returns 0 or ERR_FORMAT. */
int	 nic_parse(const void *msg, size_t n, struct nic_link *l);

#endif
