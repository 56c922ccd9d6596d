/*
 * nic - byte and packet counters of this host's network interfaces.
 *
 * The counters have 64 bits and come from /proc/net/dev (proc_pid_net(5)), which shows the network namespace of the
 * process.
 * Threads: no state.
 */
#ifndef WATCH_NIC_H
#define WATCH_NIC_H

#include "watch/traffic.h"

#define NIC_NAME	16	/* bytes of a name with its zero, IFNAMSIZ */

/* An interface at one moment. */
struct nic_link {
	unsigned index;		/* changes if the interface is removed and made again */
	struct traffic traffic;	/* counts since it came up, in bytes of whole frames */
};

/* Returns 1, 0 if there is no such interface, ERR_SYS or ERR_FORMAT. */
int	 nic_read(const char *name, struct nic_link *l);
/* Gives the interface of the default route, of IPv4 or else IPv6.  Returns 1, or 0 if there is none. */
int	 nic_default(char name[NIC_NAME]);
/* Appends all names, as "lo, eth0".  Returns 0, ERR_SYS or ERR_NOMEM. */
int	 nic_names(struct buf *out);

#endif
