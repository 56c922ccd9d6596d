/* tls_hello - what a ClientHello offers and proves, before OpenSSL computes anything: serves tls. */
#include "base/err.h"
#include "wire/tls_in.h"

#include <stdbool.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#define RECORD_HEAD	5u
#define HANDSHAKE	22u
#define CLIENT_HELLO	1u
#define MESSAGE_HEAD	4u
#define VERSION_RANDOM	34u
#define PRE_SHARED_KEY	41u
#define AGE		4u	/* bytes after each name */
#define HASH		32u	/* bytes of SHA-256 */

/* What is left of a message; `bad` once a part was longer than that. */
struct rest {
	const uint8_t	*p;
	size_t		 n;
	bool		 bad;
};

static const uint8_t *
take_bytes(struct rest *r, size_t n)
{
	const uint8_t *p = r->p;

	if (r->bad || n > r->n) {
		r->bad = true;
		r->n = 0;
		return p;
	}
	r->p += n;
	r->n -= n;
	return p;
}

static size_t
take_number(struct rest *r, size_t bytes)
{
	const uint8_t *p = take_bytes(r, bytes);
	size_t v = 0;

	for (size_t i = 0; i < bytes && !r->bad; i++)
		v = v << 8 | p[i];
	return v;
}

/* Takes a part that begins with its length. */
static struct rest
take_vector(struct rest *r, size_t bytes)
{
	size_t n = take_number(r, bytes);
	const uint8_t *p = take_bytes(r, n);

	return (struct rest){ .p = p, .n = r->bad ? 0 : n, .bad = r->bad };
}

/* Takes the first name of a pre_shared_key, and the binder that belongs to it.  Returns false if they are malformed. */
static bool
take_offer(struct rest extension, struct tls_offer *o)
{
	struct rest names = take_vector(&extension, 2), name = take_vector(&names, 2), binders, binder;

	take_bytes(&names, AGE);
	o->bound = (size_t)(extension.p - o->message);
	binders = take_vector(&extension, 2);
	binder = take_vector(&binders, 1);
	o->name = name.p;
	o->name_n = name.n;
	o->binder = binder.p;
	o->binder_n = binder.n;
	return !name.bad && !names.bad && !binder.bad;
}

/* Source: RFC 8446, sections 4.1.2, 4.2.11 and 5.1. */
int
tls_find_offer(const uint8_t *p, size_t n, struct tls_offer *o)
{
	struct rest all = { .p = p, .n = n }, message, extensions;
	size_t body;

	if (n < RECORD_HEAD)
		return 0;
	take_bytes(&all, 3);
	body = take_number(&all, 2);
	if (n - RECORD_HEAD < body)
		return 0;
	*o = (struct tls_offer){ .message = all.p };
	message = (struct rest){ .p = all.p, .n = body, .bad = p[0] != HANDSHAKE };
	if (take_number(&message, 1) != CLIENT_HELLO || take_number(&message, 3) != body - MESSAGE_HEAD)
		message.bad = true;
	take_bytes(&message, VERSION_RANDOM);
	take_vector(&message, 1);		/* session */
	take_vector(&message, 2);		/* suites */
	take_vector(&message, 1);		/* compression */
	extensions = take_vector(&message, 2);
	while (extensions.n > 0 && !extensions.bad) {
		size_t type = take_number(&extensions, 2);
		struct rest extension = take_vector(&extensions, 2);

		if (type != PRE_SHARED_KEY)
			continue;
		if (!take_offer(extension, o))
			break;
		return 1;
	}
	return err_fail(ERR_AUTH, "does not hold this job's key (its TLS names none)");
}

/* The binder that a holder of the key gives.  Source: RFC 8446, sections 4.2.11.2 and 7.1. */
static bool
compute_binder(const uint8_t key[TLS_KEY], const struct tls_offer *o, uint8_t binder[HASH])
{
	static const uint8_t zeros[HASH];
	uint8_t secret[HASH], hash[HASH];
	bool ok = EVP_Digest("", 0, hash, NULL, EVP_sha256(), NULL) &&
	    HMAC(EVP_sha256(), zeros, HASH, key, TLS_KEY, secret, NULL) != NULL &&
	    seal_expand_label(secret, "ext binder", hash, HASH, secret, HASH) &&
	    seal_expand_label(secret, "finished", NULL, 0, secret, HASH) &&
	    EVP_Digest(o->message, o->bound, hash, NULL, EVP_sha256(), NULL) &&
	    HMAC(EVP_sha256(), secret, HASH, hash, HASH, binder, NULL) != NULL;

	OPENSSL_cleanse(secret, sizeof(secret));
	return ok;
}

int
tls_check_binder(const uint8_t key[TLS_KEY], const struct tls_offer *o)
{
	uint8_t binder[HASH];

	if (o->binder_n != HASH)
		return err_fail(ERR_AUTH, "does not hold this job's key (its TLS has another cipher suite)");
	if (!compute_binder(key, o, binder))
		return err_nomem();
	if (CRYPTO_memcmp(binder, o->binder, HASH) != 0)
		return err_fail(ERR_AUTH, "names this job's key, but does not hold it");
	return 0;
}

int
tls_note_hello(struct tls_hellos *h, const struct tls_offer *o)
{
	uint64_t mark;

	memcpy(&mark, o->binder, sizeof(mark));
	for (size_t i = 0; i < TLS_HELLOS; i++)
		if (h->mark[i] == mark)
			return err_fail(ERR_AUTH, "repeats the ClientHello of another connection");
	h->mark[h->n++ % TLS_HELLOS] = mark;
	return 0;
}
