/* addr - addresses as text, "host:port" or "[v6]:port", and as sockets.  Port 0 lets the system choose. */
#ifndef WIRE_ADDR_H
#define WIRE_ADDR_H

#include <stdbool.h>
#include <stddef.h>

#define ADDR_TEXT 280	/* bytes of the longest text, with its zero */

/* Splits text into host (without brackets) and port.  Returns 0, ERR_FORMAT or ERR_LIMIT. */
int addr_split(const char *text, char host[ADDR_TEXT], char port[8]);
/*
 * Opens a listening TCP socket, non-blocking and close-on-exec, and writes its "host:port" to where.  Returns 0, the
 * errors of addr_split(), ERR_SYS (also for an unknown host) or ERR_NOMEM.
 */
int addr_listen(const char *text, int *fd, char where[ADDR_TEXT]);
/*
 * Starts to connect a socket, non-blocking, close-on-exec and TCP_NODELAY.  Returns as addr_listen(), and leaves the
 * errno of connect(2).  The lookup of a name may take seconds.  An attempt that nobody answers fails after some seconds
 * with ETIMEDOUT: the system would repeat it at pauses that grow, and find a network that is back much later.
 */
int addr_dial(const char *text, int *fd);
/* Writes the numeric address of a socket's peer.  Returns false and writes nothing if the peer has disconnected. */
bool addr_peer(int fd, char where[ADDR_TEXT]);

#endif
