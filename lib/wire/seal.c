/* seal - protects one direction of a connection by records of TLS 1.3 (RFC 8446, 5.2) with AES-128-GCM. */
#include "wire/seal.h"
#include "base/err.h"

#include <assert.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#define KEY	16u		/* bytes of a key of the cipher */
#define TAG	16u

bool
seal_expand_label(const uint8_t secret[SEAL_SECRET], const char *label, const uint8_t *context, size_t context_n,
    uint8_t *out, size_t n)
{
	uint8_t info[80] = { 0, (uint8_t)n, (uint8_t)(6 + strlen(label)), 't', 'l', 's', '1', '3', ' ' };
	uint8_t block[EVP_MAX_MD_SIZE];
	size_t at = 9 + strlen(label);
	bool ok;

	memcpy(info + 9, label, at - 9);
	info[at++] = (uint8_t)context_n;
	if (context_n > 0)
		memcpy(info + at, context, context_n);
	at += context_n;
	info[at++] = 1;		/* number of the block */
	ok = HMAC(EVP_sha256(), secret, SEAL_SECRET, info, at, block, NULL) != NULL;
	memcpy(out, block, n);
	OPENSSL_cleanse(block, sizeof(block));
	return ok;
}

/* Derives key and iv from the secret. */
static int
set_keys(struct seal *s)
{
	uint8_t key[KEY];
	bool ok;

	s->records = 0;
	ok = seal_expand_label(s->secret, "key", NULL, 0, key, sizeof(key)) &&
	    seal_expand_label(s->secret, "iv", NULL, 0, s->iv, sizeof(s->iv)) &&
	    EVP_CipherInit_ex(s->ctx, EVP_aes_128_gcm(), NULL, key, NULL, s->seals);
	OPENSSL_cleanse(key, sizeof(key));
	return ok ? 0 : err_nomem();
}

int
seal_init(struct seal *s, bool seals, const uint8_t secret[SEAL_SECRET])
{
	*s = (struct seal){ .seals = seals, .ctx = EVP_CIPHER_CTX_new() };
	if (s->ctx == NULL)
		return err_nomem();
	memcpy(s->secret, secret, SEAL_SECRET);
	return set_keys(s);
}

void
seal_free(struct seal *s)
{
	EVP_CIPHER_CTX_free(s->ctx);
	OPENSSL_cleanse(s, sizeof(*s));
	*s = (struct seal){ 0 };
}

int
seal_update(struct seal *s)
{
	uint8_t next[SEAL_SECRET];
	bool ok = seal_expand_label(s->secret, "traffic upd", NULL, 0, next, sizeof(next));

	memcpy(s->secret, next, sizeof(next));
	OPENSSL_cleanse(next, sizeof(next));
	return ok ? set_keys(s) : err_nomem();
}

/* Starts the next record, whose head is authenticated with it. */
static bool
begin_record(struct seal *s, const uint8_t head[SEAL_HEAD])
{
	uint8_t nonce[sizeof(s->iv)];
	int n;

	memcpy(nonce, s->iv, sizeof(nonce));
	for (unsigned i = 0; i < 8; i++)
		nonce[sizeof(nonce) - 1 - i] ^= (uint8_t)(s->records >> (8 * i));
	s->records++;
	return EVP_CipherInit_ex(s->ctx, NULL, NULL, NULL, nonce, -1) &&
	    EVP_CipherUpdate(s->ctx, NULL, &n, head, SEAL_HEAD);
}

int
seal_put(struct seal *s, unsigned type, const void *p, size_t n, uint8_t *out)
{
	size_t rest = n + SEAL_TAIL;
	uint8_t kind = (uint8_t)type;
	int k;

	assert(s->seals && n <= SEAL_MOST);
	memcpy(out, (uint8_t[SEAL_HEAD]){ SEAL_DATA, 3, 3, (uint8_t)(rest >> 8), (uint8_t)rest }, SEAL_HEAD);
	if (!begin_record(s, out) || !EVP_CipherUpdate(s->ctx, out + SEAL_HEAD, &k, p, (int)n) ||
	    !EVP_CipherUpdate(s->ctx, out + SEAL_HEAD + n, &k, &kind, 1) ||
	    !EVP_CipherFinal_ex(s->ctx, out + SEAL_HEAD + n + 1, &k) ||
	    !EVP_CIPHER_CTX_ctrl(s->ctx, EVP_CTRL_AEAD_GET_TAG, (int)TAG, out + SEAL_HEAD + n + 1))
		return err_nomem();
	return 0;
}

size_t
seal_length(const uint8_t head[SEAL_HEAD])
{
	size_t n = (size_t)head[3] << 8 | head[4];

	if (head[0] != SEAL_DATA || head[1] != 3 || n < SEAL_TAIL || n > SEAL_RECEIVED - SEAL_HEAD)
		return 0;
	return SEAL_HEAD + n;
}

bool
seal_get(struct seal *s, const uint8_t *record, uint8_t *to, size_t *n, unsigned *type)
{
	size_t most = seal_length(record) - SEAL_HEAD - SEAL_TAIL;
	const uint8_t *in = record + SEAL_HEAD;
	uint8_t tag[TAG], last, none;
	int k;

	assert(!s->seals);
	memcpy(tag, in + most + 1, TAG);
	if (!begin_record(s, record) || !EVP_CIPHER_CTX_ctrl(s->ctx, EVP_CTRL_AEAD_SET_TAG, (int)TAG, tag) ||
	    !EVP_CipherUpdate(s->ctx, to, &k, in, (int)most) || !EVP_CipherUpdate(s->ctx, &last, &k, in + most, 1) ||
	    EVP_CipherFinal_ex(s->ctx, &none, &k) <= 0)
		return false;
	/* Zeros after the type are padding. */
	for (; last == 0 && most > 0; most--)
		last = to[most - 1];
	*n = most;
	*type = last;
	return last != 0 && most <= SEAL_MOST;
}
