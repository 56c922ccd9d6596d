/*
 * tls - plain bytes in, TLS 1.3 records on a socket out, and back.
 *
 * RFC 8446 by OpenSSL, cut down to one way of doing it: the job's 32-byte key as
 * external pre-shared key under the name "tally/VERSION", X25519 for a fresh
 * secret (psk_dhe_ke), TLS_AES_128_GCM_SHA256.  No certificates, no tickets, no
 * early data, no older version.  Both sides prove that they hold the key.
 *
 * The socket stays the caller's; it is never waited for, and writing to a closed
 * one raises no signal.  Nothing is built up for a peer before its first byte.
 * Threads: one at a time.
 */
#ifndef WIRE_TLS_H
#define WIRE_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TLS_KEY		32		/* bytes of the key */
#define TLS_SHAKE_MOST	4096		/* bytes read from a peer that has not shown the key */
#define TLS_REKEY	(1u << 16)	/* records sent under one key; RFC 8446 5.5 allows 2^24.5 */

struct tls;

/* The key is copied, and wiped when the handshake is over.  0 or ERR_NOMEM. */
int	 tls_new(int fd, bool server, const uint8_t key[TLS_KEY], struct tls **t);
/* Says goodbye to an open peer, as far as that goes without waiting.  NULL is fine. */
void	 tls_free(struct tls *t);

/*
 * Goes on with the handshake: 1 when it is over, 0 not yet.  ERR_AUTH: the peer
 * does not hold the key, or refused ours; ERR_PEER; ERR_SYS; ERR_NOMEM.
 */
int	 tls_shake(struct tls *t);

/*
 * The next calls of tls_read together take up to this much from the socket.  Once
 * tls_read gives nothing, all that was taken has been given but for a record's
 * beginning: poll() on the socket misses nothing.
 */
void	 tls_allow(struct tls *t, size_t bytes);
/* Gives up to n bytes, *got 0 when there are none now.  0 or ERR_PEER (the line says whether it was an orderly end). */
int	 tls_read(struct tls *t, void *p, size_t n, size_t *got);
/* Takes up to n bytes, *put 0 when the socket is full; what was not taken is offered again.  0 or ERR_PEER. */
int	 tls_write(struct tls *t, const void *p, size_t n, size_t *put);
/* Gives to the system what tls_write collected; its trouble is seen by tls_read. */
void	 tls_flush(struct tls *t);
void	 tls_moved(const struct tls *t, uint64_t *received, uint64_t *sent);	/* bytes on the socket so far */
size_t	 tls_held(const struct tls *t);		/* bytes tls_flush has still to give */
bool	 tls_wants_out(const struct tls *t);	/* waits for the socket to take bytes */

#endif
