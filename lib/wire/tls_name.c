/* tls_name - the name of a job's key, "tally/VERSION ROLE JOB": serves tls. */
#include "base/err.h"
#include "wire/conn.h"
#include "wire/msg.h"
#include "wire/tls_in.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>

#define JOB_BYTES	8u	/* of the hash: enough that no two jobs have one id */

#define RECORD_HEAD	5u
#define HANDSHAKE	22u
#define CLIENT_HELLO	1u
#define MESSAGE_HEAD	4u
#define VERSION_RANDOM	34u
#define PRE_SHARED_KEY	41u

/* The parts of a name; "" for one that it lacks. */
struct parts {
	char	version[TLS_NAME], role[TLS_NAME], job[TLS_NAME];
};

/* The id is for everybody to see, and says nothing about the key, which is random. */
int
tls_set_name(struct tls *t)
{
	static const char label[] = "tally job ";
	char text[sizeof(label) - 1 + CONN_KEY_TEXT], id[2 * JOB_BYTES + 1];
	uint8_t hash[EVP_MAX_MD_SIZE];
	int done;

	if (t->name[0] != 0)
		return 0;
	memcpy(text, label, sizeof(label) - 1);
	conn_key_text(t->key, text + sizeof(label) - 1);
	done = EVP_Digest(text, sizeof(text) - 1, hash, NULL, EVP_sha256(), NULL);
	OPENSSL_cleanse(text, sizeof(text));
	if (!done)
		return err_nomem();
	for (size_t i = 0; i < JOB_BYTES; i++)
		snprintf(id + 2 * i, 3, "%02x", hash[i]);
	snprintf(t->name, sizeof(t->name), "tally/%u %s %s", MSG_VERSION, t->role, id);
	return 0;
}

static void
split_name(const char *name, struct parts *p)
{
	*p = (struct parts){ 0 };
	sscanf(name, "%47s %47s %47s", p->version, p->role, p->job);
}

/* A role that this version knows, so that a refusal carries no text of a stranger's. */
static const char *
find_role(const char *role)
{
	static const char *const roles[] = { CONN_WORKER, CONN_READER, CONN_MEMBER };

	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		if (strcmp(role, roles[i]) == 0)
			return roles[i];
	return "stranger";
}

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

/* Source: RFC 8446, sections 4.1.2, 4.2.11 and 5.1. */
int
tls_find_name(const uint8_t *p, size_t n, const uint8_t **name, size_t *length)
{
	struct rest all = { .p = p, .n = n }, message, extensions;
	size_t body;

	if (n < RECORD_HEAD)
		return 0;
	take_bytes(&all, 3);
	body = take_number(&all, 2);
	if (n - RECORD_HEAD < body)
		return 0;
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
		struct rest extension = take_vector(&extensions, 2), names, first;

		if (type != PRE_SHARED_KEY)
			continue;
		names = take_vector(&extension, 2);
		first = take_vector(&names, 2);
		if (first.bad)
			break;
		*name = first.p;
		*length = first.n;
		return 1;
	}
	return err_fail(ERR_AUTH, "does not hold this job's key (its TLS names none)");
}

int
tls_check_name(struct tls *t, const uint8_t *name, size_t n)
{
	struct parts own, other;
	char text[TLS_NAME];

	if (n == strlen(t->name) && memcmp(name, t->name, n) == 0)
		return 0;
	snprintf(text, sizeof(text), "%.*s", (int)(n < TLS_NAME ? n : TLS_NAME - 1), (const char *)name);
	split_name(t->name, &own);
	split_name(text, &other);
	if (strncmp(text, "tally/", 6) != 0) {
		tls_alert(t, SSL_AD_HANDSHAKE_FAILURE);
		return err_fail(ERR_AUTH, "does not hold this job's key");
	}
	if (strcmp(own.version, other.version) != 0) {
		tls_alert(t, SSL_AD_PROTOCOL_VERSION);
		return err_fail(ERR_AUTH, "has another version of the protocol, not %s", own.version);
	}
	if (strcmp(own.job, other.job) != 0) {
		tls_alert(t, SSL_AD_UNKNOWN_PSK_IDENTITY);
		return err_fail(ERR_AUTH, "holds the key of another job");
	}
	tls_alert(t, SSL_AD_ACCESS_DENIED);
	return err_fail(ERR_AUTH, "is a %s, not a %s", find_role(other.role), own.role);
}

int
tls_fail_name(const struct tls *t, int alert)
{
	switch (alert) {
	case SSL_AD_PROTOCOL_VERSION:
		return err_fail(ERR_AUTH,
		    "refused this job's key: it has another version of the protocol, not tally/%u", MSG_VERSION);
	case SSL_AD_UNKNOWN_PSK_IDENTITY:
		return err_fail(ERR_AUTH, "refused this job's key: it holds the key of another job");
	case SSL_AD_ACCESS_DENIED:
		return err_fail(ERR_AUTH, "refused this process: it accepts no %s", t->role);
	default:
		return 0;
	}
}
