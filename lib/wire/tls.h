/*
 * tls - plain bytes in, TLS 1.3 records on a socket out, and back.
 *
 * RFC 8446 by OpenSSL with one choice of each kind: the job's 32-byte key as external pre-shared key under the name
 * "tally/VERSION ROLE JOB", X25519 (psk_dhe_ke), TLS_AES_128_GCM_SHA256.  ROLE is what the client is, and JOB an id
 * that is derived from the key.  No certificates, tickets, early data or older versions.  Both sides prove that they
 * hold the key.  OpenSSL makes the handshake, and wire/seal.h the records that follow, which any library of TLS 1.3
 * reads.
 *
 * Before a server lets OpenSSL compute, it compares the name, and checks the binder: the proof in a ClientHello that
 * who made it holds the key.  Both cost some microseconds, a handshake 150 us.  An eavesdropper can only repeat a
 * ClientHello, and a server that keeps a struct tls_hellos refuses repetitions.
 *
 * All connections of a process share one context of OpenSSL's for each role, which lives as long as the process.
 *
 * The caller owns the socket.  No call waits for it, and writing to a closed one raises no signal.  A server allocates
 * nothing for a peer before its first byte.
 * Threads: one at a time.
 */
#ifndef WIRE_TLS_H
#define WIRE_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TLS_KEY		32		/* bytes of the key */
#define TLS_SHAKE_MOST	4096		/* most bytes read from a peer that has not proved the key */
#define TLS_HELLOS	1024u
#define TLS_REKEY	(1u << 16)	/* records sent under one key; RFC 8446 5.5 allows 2^24.5 */

struct tls;

/* The last ClientHellos with a right proof, of all connections of a listener.  Zeros: none yet. */
struct tls_hellos {
	uint64_t	 mark[TLS_HELLOS];
	uint32_t	 n;
};

/*
 * The key and the role are lent until the handshake is complete or tls_free().  A server accepts clients of this role
 * alone.  Returns 0 or ERR_NOMEM.
 */
int	 tls_new(int fd, bool server, const uint8_t key[TLS_KEY], const char *role, struct tls **t);
/* Before the first tls_shake() of a server: refuses ClientHellos that are in h, which is lent, and adds others. */
void	 tls_refuse_repeats(struct tls *t, struct tls_hellos *h);
/* Whether the ClientHello of a client proves that who made it holds the key, and is no repetition. */
bool	 tls_credible(const struct tls *t);
/* Sends close_notify to an open peer, if that is possible without waiting.  NULL does nothing. */
void	 tls_free(struct tls *t);

/*
 * Continues the handshake.  Returns 1 when it is complete, 0 when it waits for the socket, ERR_AUTH if the peer does
 * not hold the key, has another role, or refused ours, ERR_PEER, ERR_SYS or ERR_NOMEM.
 */
int	 tls_shake(struct tls *t);

/*
 * Limits what the next calls of tls_read() together read from the socket.  When tls_read() returns no bytes, it holds
 * at most the beginning of a record, so that poll() on the socket misses nothing.
 */
void	 tls_allow(struct tls *t, size_t bytes);
/*
 * Reads up to n bytes; *got is 0 if there are none now.  Returns 0, ERR_NOMEM or ERR_PEER, whose line says whether the
 * peer closed in order.  A peer's record is opened into p; if it was changed on the way, p has anything, and *got is 0.
 */
int	 tls_read(struct tls *t, void *p, size_t n, size_t *got);
/* Writes up to n bytes; *put is 0 if the socket is full.  Returns 0 or ERR_NOMEM. */
int	 tls_write(struct tls *t, const void *p, size_t n, size_t *put);
/* Sends what tls_write() collected.  tls_read() reports errors. */
void	 tls_flush(struct tls *t);
void	 tls_byte_counts(const struct tls *t, uint64_t *received, uint64_t *sent);	/* bytes on the socket so far */
/* 0, or nothing more can be sent, and tls_read() reports why: an errno, or a negative number if the peer has ended. */
int	 tls_down(const struct tls *t);
size_t	 tls_held(const struct tls *t);		/* bytes that tls_flush() has still to send */
bool	 tls_wants_out(const struct tls *t);	/* it waits until the socket can be written */

#endif
