/* tls_name - the name of a job's key, "tally/VERSION ROLE JOB": serves tls. */
#include "base/err.h"
#include "wire/conn.h"
#include "wire/msg.h"
#include "wire/tls_in.h"

#include <stdio.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>

#define JOB_BYTES	8u	/* of the hash: enough that no two jobs have one id */

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
