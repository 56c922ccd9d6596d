/*
 * seal - protects one direction of a connection by records of TLS 1.3 (RFC 8446, 5.2) with AES-128-GCM.
 *
 * OpenSSL makes the handshake (wire/tls.h) and leaves a traffic secret for each direction.  The cipher reads the
 * caller's bytes and writes the record, or the reverse, so that nothing is copied besides; SSL_write() and SSL_read()
 * copy all bytes once more.
 *
 * Threads: one at a time for each struct seal.
 */
#ifndef WIRE_SEAL_H
#define WIRE_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEAL_SECRET	32u			/* bytes of a secret */
#define SEAL_HEAD	5u			/* bytes before the sealed ones */
#define SEAL_TAIL	17u			/* bytes after them: their type and the tag */
#define SEAL_MOST	(1u << 14)		/* most bytes in a record */
#define SEAL_RECORD	(SEAL_HEAD + SEAL_MOST + SEAL_TAIL)	/* bytes of the longest record that is sent */
/* Bytes of the longest record that is received.  RFC 8446 lets a peer add up to 256. */
#define SEAL_RECEIVED	(SEAL_HEAD + SEAL_MOST + 256u)

/* Types of what is sealed. */
#define SEAL_ALERT	21u
#define SEAL_HANDSHAKE	22u
#define SEAL_DATA	23u

struct seal {
	struct evp_cipher_ctx_st *ctx;
	bool	 seals;			/* this end sends; else it opens what the peer sent */
	uint8_t	 secret[SEAL_SECRET], iv[12];
	uint64_t records;		/* records since the last change of keys */
};

/*
 * HKDF-Expand-Label() of RFC 8446, 7.1, for n <= 32 bytes: one block of HMAC.  The context has at most 32 bytes.  `out`
 * may be the secret.  Returns false when out of memory.
 */
bool	 seal_expand_label(const uint8_t secret[SEAL_SECRET], const char *label, const uint8_t *context,
	    size_t context_n, uint8_t *out, size_t n);

/* Returns 0 or ERR_NOMEM.  A struct of zeros needs no seal_free(). */
int	 seal_init(struct seal *s, bool seals, const uint8_t secret[SEAL_SECRET]);
void	 seal_free(struct seal *s);	/* wipes the keys; leaves a struct of zeros */
/* Changes to the next keys, as after a KeyUpdate.  Returns 0 or ERR_NOMEM. */
int	 seal_update(struct seal *s);
/* Writes a record of n <= SEAL_MOST bytes to out [SEAL_HEAD + n + SEAL_TAIL].  Returns 0 or ERR_NOMEM. */
int	 seal_put(struct seal *s, unsigned type, const void *p, size_t n, uint8_t *out);
/* The bytes of a record by its first SEAL_HEAD bytes.  0: they begin none, or one of an invalid length. */
size_t	 seal_length(const uint8_t head[SEAL_HEAD]);
/*
 * Opens a record of seal_length() bytes into to, which has room for that less SEAL_HEAD + SEAL_TAIL.  *n is the number
 * of its bytes without padding.  Returns false if the peer did not seal it; then to has anything.
 */
bool	 seal_get(struct seal *s, const uint8_t *record, uint8_t *to, size_t *n, unsigned *type);

#endif
