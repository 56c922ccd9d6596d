/* tls_in - what the files of tls share. */
#ifndef WIRE_TLS_IN_H
#define WIRE_TLS_IN_H

#include "wire/seal.h"
#include "wire/tls.h"

#include <openssl/bio.h>

#define TLS_AHEAD	(8 * SEAL_RECEIVED)	/* bytes of the read buffer after the handshake */
#define TLS_END		(-1)		/* in place of an errno: the peer closed its side */
#define TLS_CLOSED	(-2)		/* likewise, with close_notify */

struct tls {
	int		 fd;
	bool		 server, open;
	bool		 other_version;	/* the peer named another version in the key's name */
	bool		 rekey;		/* the peer asked for new keys of ours */
	int		 down;		/* errno of the socket, TLS_END or TLS_CLOSED; 0 while it works */
	uint8_t		 key[TLS_KEY];
	char		 name[16];	/* name of the key */
	size_t		 allow;		/* bytes that may still be read, tls_allow() */
	SSL		*ssl;		/* state of the handshake, and NULL after it */
	uint8_t		 secret[2][SEAL_SECRET];	/* secrets of what the client and the server send */
	bool		 has_secret[2];
	struct seal	 send, receive;
	uint64_t	 received, sent;	/* bytes on the socket */
	size_t		 at, n, room;	/* out[at..n) waits for the socket */
	uint8_t		*out;
	size_t		 in_at, in_n;	/* in[in_at..in_n) [TLS_AHEAD] is received and not opened */
	uint8_t		*in;
	size_t		 rest_at, rest_n;	/* rest[rest_at..rest_n) [SEAL_RECEIVED] of a record is not read */
	uint8_t		*rest;
};

/*
 * Receives up to n bytes; 0 if there are none now.  An error is kept in `down`, so that bytes received before it can
 * still be read: when a write fails, the peer's last message has often arrived already.
 */
size_t	 tls_receive(struct tls *t, void *p, size_t n);
/* Whether the write buffer has room for n bytes, after tls_flush() if it had not. */
bool	 tls_make_room(struct tls *t, size_t n);
/* Returns ERR_PEER with a line about `down`. */
int	 tls_fail_broken(const struct tls *t);
/* Frees OpenSSL's part, and wipes the secrets. */
void	 tls_end_handshake(struct tls *t);

#endif
