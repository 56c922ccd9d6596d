/* addr - "host:port" and "[v6]:port" as text and as sockets.  Port 0 lets the system choose. */
#ifndef WIRE_ADDR_H
#define WIRE_ADDR_H

#include <stddef.h>

#define ADDR_TEXT 280	/* bytes of the longest text, its zero counted */

/* Cuts text into host (without brackets) and port.  0, ERR_FORMAT or ERR_LIMIT. */
int addr_split(const char *text, char host[ADDR_TEXT], char port[8]);
/*
 * A listening TCP socket, non-blocking, close-on-exec; where gets "host:port" with the port it has.  0, as addr_split(),
 * ERR_SYS (no such host, too) or ERR_NOMEM.
 */
int addr_listen(const char *text, int *fd, char where[ADDR_TEXT]);
/* A socket that is connecting, non-blocking, close-on-exec, TCP_NODELAY; as addr_listen().  Looking up a name may take seconds. */
int addr_dial(const char *text, int *fd);
/* The peer of a connected socket, as numbers; words where there is none any more. */
void addr_peer(int fd, char where[ADDR_TEXT]);

#endif
