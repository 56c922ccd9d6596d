/* tls_in - what the files of tls share. */
#ifndef WIRE_TLS_IN_H
#define WIRE_TLS_IN_H

#include "wire/seal.h"
#include "wire/tls.h"

#include <openssl/bio.h>

#define TLS_AHEAD	(8 * SEAL_RECEIVED)	/* bytes of the read buffer after the handshake */
#define TLS_NAME	48		/* bytes of a key's name and the zero */
#define TLS_END		(-1)		/* in place of an errno: the peer closed its side */
#define TLS_CLOSED	(-2)		/* likewise, with close_notify */

struct tls {
	int		 fd;
	bool		 server, open;
	bool		 rekey;		/* the peer asked for new keys of ours */
	int		 down;		/* errno of the socket, TLS_END or TLS_CLOSED; 0 while it works */
	const uint8_t	*key;		/* [TLS_KEY] lent */
	const char	*role;
	char		 name[TLS_NAME];	/* name of the key; "": not needed yet */
	struct tls_hellos *hellos;	/* lent; NULL: repetitions are not refused */
	bool		 credible;
	size_t		 allow;		/* bytes that may still be read, tls_allow() */
	SSL		*ssl;		/* state of the handshake, and NULL after it */
	uint8_t		 secret[2][SEAL_SECRET];	/* secrets of what the client and the server send */
	bool		 has_secret[2];
	struct seal	 send, receive;
	uint64_t	 received, sent;	/* bytes on the socket */
	size_t		 at, n, room;	/* out[at..n) waits for the socket */
	uint8_t		*out;
	/* in[in_at..in_n) is received and not opened; [TLS_AHEAD], before the handshake is complete [TLS_SHAKE_MOST] */
	size_t		 in_at, in_n;
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
/* Queues an alert in plain text, which is fatal. */
void	 tls_alert(struct tls *t, uint8_t alert);

/* The first key that a ClientHello offers; it points into the bytes of the connection. */
struct tls_offer {
	const uint8_t	*name;
	size_t		 name_n;
	const uint8_t	*binder;	/* the proof that who made this ClientHello holds the key */
	size_t		 binder_n;
	const uint8_t	*message;	/* the proof is of its first bytes */
	size_t		 bound;		/* number of these bytes */
};

/*
 * tls_hello.c: finds the offer in p [n], the beginning of a connection.  Returns 1; 0 if the ClientHello is not
 * complete; or ERR_AUTH, with a line, if it is none, is not in one record, or offers no key.
 */
int	 tls_find_offer(const uint8_t *p, size_t n, struct tls_offer *o);
/* Returns 0, ERR_AUTH with a line if the proof is not that of the key, or ERR_NOMEM. */
int	 tls_check_binder(const uint8_t key[TLS_KEY], const struct tls_offer *o);
/* Notes a ClientHello whose proof is right.  Returns ERR_AUTH, with a line, if it was noted before. */
int	 tls_note_hello(struct tls_hellos *h, const struct tls_offer *o);

/* tls_name.c: sets the name of the key.  Returns 0 or ERR_NOMEM. */
int	 tls_set_name(struct tls *t);
/*
 * Compares the name that a client gives for its key.  Returns 0, or ERR_AUTH with a line, after an alert that tells the
 * client the same.
 */
int	 tls_check_name(struct tls *t, const uint8_t *name, size_t n);
/* Fails with what such an alert of a server says; 0 if it is none. */
int	 tls_fail_name(const struct tls *t, int alert);

#endif
