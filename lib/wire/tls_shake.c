/* tls_shake - the handshake, by OpenSSL: serves tls. */
#include "wire/tls_in.h"
#include "base/err.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#define OUT	(8 * SEAL_RECORD)	/* bytes of the write buffer after the handshake */

/* The socket as OpenSSL sees it, which is told to try again when it is broken. */
static int
sock_read(BIO *b, char *p, int n)
{
	struct tls *t = BIO_get_data(b);
	size_t want = n > 0 ? (size_t)n : 0, got = t->in_n - t->in_at < want ? t->in_n - t->in_at : want;

	BIO_clear_retry_flags(b);
	if (got > 0) {	/* read ahead by check_hello() */
		memcpy(p, t->in + t->in_at, got);
		t->in_at += got;
	} else {
		got = tls_receive(t, p, want);
	}
	if (got > 0)
		return (int)got;
	BIO_set_retry_read(b);
	return -1;
}

static int
sock_write(BIO *b, const char *p, int n)
{
	struct tls *t = BIO_get_data(b);

	BIO_clear_retry_flags(b);
	if (!tls_make_room(t, (size_t)n)) {
		BIO_set_retry_write(b);
		return -1;
	}
	memcpy(t->out + t->n, p, (size_t)n);
	t->n += (size_t)n;
	return n;
}

static long
sock_ctrl(BIO *b, int what, long number, void *p)
{
	(void)b, (void)number, (void)p;
	return what == BIO_CTRL_FLUSH;
}

/* Makes a session with the job's key that OpenSSL resumes; NULL when out of memory. */
static SSL_SESSION *
new_psk_session(SSL *ssl, const struct tls *t)
{
	static const unsigned char suite[] = { 0x13, 0x01 };	/* TLS_AES_128_GCM_SHA256 */
	SSL_SESSION *s = SSL_SESSION_new();

	if (s != NULL && SSL_SESSION_set1_master_key(s, t->key, TLS_KEY) &&
	    SSL_SESSION_set_cipher(s, SSL_CIPHER_find(ssl, suite)) &&
	    SSL_SESSION_set_protocol_version(s, TLS1_3_VERSION))
		return s;
	SSL_SESSION_free(s);
	return NULL;
}

/* OpenSSL's callback: the client's key and its name. */
static int
offer_psk(SSL *ssl, const EVP_MD *md, const unsigned char **id, size_t *n, SSL_SESSION **s)
{
	struct tls *t = SSL_get_app_data(ssl);

	(void)md;	/* there is only one suite */
	*id = (const unsigned char *)t->name;
	*n = strlen(t->name);
	*s = new_psk_session(ssl, t);
	return *s != NULL;
}

/* OpenSSL's callback: the server's key for a name, none for an unknown name. */
static int
find_psk(SSL *ssl, const unsigned char *id, size_t n, SSL_SESSION **s)
{
	struct tls *t = SSL_get_app_data(ssl);

	*s = NULL;
	return n != strlen(t->name) || memcmp(id, t->name, n) != 0 || (*s = new_psk_session(ssl, t)) != NULL;
}

/* OpenSSL's callback: a line "CLIENT_TRAFFIC_SECRET_0 RANDOM SECRET" in hex, or one of other secrets. */
static void
keep_secret(const SSL *ssl, const char *line)
{
	static const char *const name[2] = { "CLIENT_TRAFFIC_SECRET_0 ", "SERVER_TRAFFIC_SECRET_0 " };
	struct tls *t = SSL_get_app_data(ssl);
	const char *hex = strrchr(line, ' ');
	size_t n;

	for (int i = 0; hex != NULL && i < 2; i++)
		if (strncmp(line, name[i], strlen(name[i])) == 0)
			t->has_secret[i] = OPENSSL_hexstr2buf_ex(t->secret[i], SEAL_SECRET, &n, hex + 1, 0) &&
			    n == SEAL_SECRET;
}

static SSL_CTX *
new_context(bool server)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_method());

	if (ctx == NULL || !SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) ||
	    !SSL_CTX_set_max_proto_version(ctx, TLS1_3_VERSION) ||
	    !SSL_CTX_set_ciphersuites(ctx, "TLS_AES_128_GCM_SHA256") || !SSL_CTX_set1_groups_list(ctx, "X25519") ||
	    !SSL_CTX_set_num_tickets(ctx, 0)) {
		SSL_CTX_free(ctx);
		return NULL;
	}
	SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_max_early_data(ctx, 0);
	/* A client trusts no certificate, so that a server which presents one instead of the key fails. */
	SSL_CTX_set_verify(ctx, server ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_psk_use_session_callback(ctx, offer_psk);
	SSL_CTX_set_psk_find_session_callback(ctx, find_psk);
	SSL_CTX_set_keylog_callback(ctx, keep_secret);
	return ctx;
}

/*
 * The context of a role, which all connections of this process share: it holds no key.  NULL when out of memory; then
 * the next connection tries again.
 */
static SSL_CTX *
share_context(bool server)
{
	static _Atomic(SSL_CTX *) shared[2];
	SSL_CTX *ctx = atomic_load(&shared[server]), *first = NULL;

	if (ctx != NULL || (ctx = new_context(server)) == NULL ||
	    atomic_compare_exchange_strong(&shared[server], &first, ctx))
		return ctx;
	SSL_CTX_free(ctx);	/* another thread was faster */
	return first;
}

static BIO_METHOD *
new_method(void)
{
	BIO_METHOD *m = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "a job's socket");

	if (m == NULL)
		return NULL;
	BIO_meth_set_read(m, sock_read);
	BIO_meth_set_write(m, sock_write);
	BIO_meth_set_ctrl(m, sock_ctrl);
	return m;
}

/* The functions of a socket, shared in the same way. */
static BIO_METHOD *
share_method(void)
{
	static _Atomic(BIO_METHOD *) shared;
	BIO_METHOD *m = atomic_load(&shared), *first = NULL;

	if (m != NULL || (m = new_method()) == NULL || atomic_compare_exchange_strong(&shared, &first, m))
		return m;
	BIO_meth_free(m);
	return first;
}

static int
start_tls(struct tls *t)
{
	SSL_CTX *ctx = share_context(t->server);
	BIO_METHOD *method = share_method();
	BIO *b;

	if (ctx == NULL || method == NULL || (t->ssl = SSL_new(ctx)) == NULL || (b = BIO_new(method)) == NULL)
		return err_nomem();
	BIO_set_data(b, t);
	BIO_set_init(b, 1);
	SSL_set_bio(t->ssl, b, b);
	SSL_set_app_data(t->ssl, t);
	if (t->server)
		SSL_set_accept_state(t->ssl);
	else
		SSL_set_connect_state(t->ssl);
	return 0;
}

void
tls_end_handshake(struct tls *t)
{
	SSL_free(t->ssl);
	t->ssl = NULL;
	t->key = NULL;
	OPENSSL_cleanse(t->secret, sizeof(t->secret));
}

static const char *
get_tls_reason(void)
{
	const char *text = ERR_reason_error_string(ERR_peek_error());

	return text != NULL ? text : "no reason given";
}

/* Turns OpenSSL's error of a handshake into one of ours. */
static int
fail_refused(const struct tls *t)
{
	int reason = ERR_GET_REASON(ERR_peek_error());

	if (reason == ERR_R_MALLOC_FAILURE)
		return err_nomem();
	if (reason > SSL_AD_REASON_OFFSET && tls_fail_name(t, reason - SSL_AD_REASON_OFFSET) < 0)
		return ERR_AUTH;
	if (reason > SSL_AD_REASON_OFFSET)
		return err_fail(ERR_AUTH, "refused this job's key: it holds another key, or has another version");
	return err_fail(ERR_AUTH, "does not hold this job's key (%s)", get_tls_reason());
}

/* After the handshake: allocates the buffers, and takes the records over from OpenSSL. */
static int
open_session(struct tls *t)
{
	uint8_t *out, *in;

	if (!SSL_session_reused(t->ssl))
		return err_fail(ERR_AUTH, "did not prove this job's key");
	if (!t->has_secret[0] || !t->has_secret[1])
		return err_fail(ERR_NOTSUP, "this OpenSSL gives no secrets of TLS 1.3");
	if ((out = realloc(t->out, OUT)) == NULL)
		return err_nomem();
	t->out = out;
	t->room = OUT;
	if ((in = realloc(t->in, TLS_AHEAD)) == NULL)
		return err_nomem();
	t->in = in;
	if ((t->rest = malloc(SEAL_RECEIVED)) == NULL)
		return err_nomem();
	ERR_TRY(seal_init(&t->send, true, t->secret[t->server]));
	ERR_TRY(seal_init(&t->receive, false, t->secret[!t->server]));
	tls_end_handshake(t);
	t->open = true;
	return 1;
}

/* A server allocates nothing for a peer that is silent or does not speak TLS.  Returns 1 once it does. */
static int
check_first_byte(struct tls *t)
{
	uint8_t first;
	ssize_t r = recv(t->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);

	if (r < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (r <= 0) {
		t->down = r == 0 ? TLS_END : errno;
		return tls_fail_broken(t);
	}
	if (first == 't')
		return err_fail(ERR_AUTH, "has no key (--plain), and this job has one");
	if (first != SSL3_RT_HANDSHAKE)
		return err_fail(ERR_AUTH, "does not speak TLS");
	return 1;
}

static int
fail_unproved(struct tls *t)
{
	if (t->down != 0)
		return tls_fail_broken(t);
	return t->allow > 0 ? 0 : err_fail(ERR_AUTH, "sent %d bytes and did not prove this job's key", TLS_SHAKE_MOST);
}

/* In a server: checks what the client offers.  Returns 1 if the handshake may begin. */
static int
check_hello(struct tls *t)
{
	struct tls_offer o;
	int e;

	if (t->in == NULL) {
		if ((e = check_first_byte(t)) <= 0)
			return e;
		if ((t->in = malloc(TLS_SHAKE_MOST)) == NULL)
			return err_nomem();
	}
	t->in_n += tls_receive(t, t->in + t->in_n, TLS_SHAKE_MOST - t->in_n);
	if ((e = tls_find_offer(t->in, t->in_n, &o)) == 0)
		return fail_unproved(t);
	if (e < 0) {
		tls_alert(t, SSL_AD_HANDSHAKE_FAILURE);
		return e;
	}
	ERR_TRY(tls_set_name(t));
	ERR_TRY(tls_check_name(t, o.name, o.name_n));
	if ((e = tls_check_binder(t->key, &o)) < 0) {
		tls_alert(t, SSL_AD_DECRYPT_ERROR);
		return e;
	}
	if (t->hellos != NULL)
		ERR_TRY(tls_note_hello(t->hellos, &o));
	t->credible = true;
	return 1;
}

int
tls_shake(struct tls *t)
{
	int r, e;

	if (t->open)
		return 1;
	if (t->ssl == NULL && ((e = t->server ? check_hello(t) : tls_set_name(t)) < 0 || (t->server && e == 0) ||
	    (e = start_tls(t)) < 0))
		return e;
	ERR_clear_error();
	r = SSL_do_handshake(t->ssl);
	e = SSL_get_error(t->ssl, r);
	tls_flush(t);
	if (r == 1)
		return open_session(t);
	if (e != SSL_ERROR_WANT_READ && e != SSL_ERROR_WANT_WRITE)
		return fail_refused(t);
	return fail_unproved(t);
}
