/* tls - plain bytes in, TLS 1.3 records on a socket out, and back. */
#include "wire/tls.h"
#include "base/err.h"
#include "wire/msg.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#define RECORD	(SSL3_RT_MAX_PLAIN_LENGTH + SSL3_RT_MAX_ENCRYPTED_OVERHEAD + SSL3_RT_HEADER_LENGTH)
#define SHAKE	2048		/* bytes of our part of the handshake, and more */
#define OUT	(8 * RECORD)	/* bytes of the write buffer after the handshake */
#define AHEAD	(8 * RECORD)	/* bytes of the read buffer after the handshake */
#define END	(-1)		/* in place of an errno: the peer closed its side */

struct tls {
	int		 fd;
	bool		 server, open;
	bool		 other_version;	/* the peer named another version in the key's name */
	bool		 stuck;		/* a finished record waits for room in out */
	int		 down;		/* errno of the socket, or END; 0 while it works */
	uint8_t		 key[TLS_KEY];
	char		 name[16];	/* of the key */
	size_t		 allow;		/* bytes that may still be read, tls_allow() */
	uint32_t	 records;	/* sent since the last change of keys */
	SSL_CTX		*ctx;
	SSL		*ssl;
	BIO_METHOD	*method;
	uint64_t	 received, sent;	/* bytes on the socket */
	size_t		 at, n, room;	/* out[at..n) waits for the socket */
	uint8_t		*out;
};

/*
 * The socket as OpenSSL sees it.  An error is kept in `down` and shown to OpenSSL as "retry", so that bytes received
 * before it can still be read: when a write fails, the peer's last message has often arrived already.
 */
static int
sock_read(BIO *b, char *p, int n)
{
	struct tls *t = BIO_get_data(b);
	ssize_t r;

	BIO_clear_retry_flags(b);
	if (t->allow > 0 && n > 0) {
		r = recv(t->fd, p, (size_t)n < t->allow ? (size_t)n : t->allow, MSG_DONTWAIT);
		if (r > 0) {
			t->allow -= (size_t)r;
			t->received += (size_t)r;
			return (int)r;
		}
		if (t->down == 0 && (r == 0 || (errno != EAGAIN && errno != EINTR)))
			t->down = r == 0 ? END : errno;
	}
	BIO_set_retry_read(b);
	return -1;
}

static int
sock_write(BIO *b, const char *p, int n)
{
	struct tls *t = BIO_get_data(b);

	BIO_clear_retry_flags(b);
	if ((size_t)n > t->room - t->n)
		tls_flush(t);
	if ((size_t)n > t->room - t->n) {
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

void
tls_flush(struct tls *t)
{
	ssize_t r;

	while (t->at < t->n && t->down == 0) {
		r = send(t->fd, t->out + t->at, t->n - t->at, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (r > 0) {
			t->at += (size_t)r;
			t->sent += (size_t)r;
		}
		else if (errno == EAGAIN)
			break;
		else if (errno != EINTR)
			t->down = errno;
	}
	if (t->at == t->n)
		t->at = t->n = 0;
}

void
tls_moved(const struct tls *t, uint64_t *received, uint64_t *sent)
{
	*received = t->received;
	*sent = t->sent;
}

/* Makes a session with the job's key that OpenSSL resumes; NULL when out of memory. */
static SSL_SESSION *
new_psk_session(SSL *ssl, const struct tls *t)
{
	static const unsigned char suite[] = { 0x13, 0x01 };	/* TLS_AES_128_GCM_SHA256 */
	SSL_SESSION *s = SSL_SESSION_new();

	if (s != NULL && SSL_SESSION_set1_master_key(s, t->key, sizeof(t->key)) &&
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
	if (n == strlen(t->name) && memcmp(id, t->name, n) == 0)
		return (*s = new_psk_session(ssl, t)) != NULL;
	t->other_version = n > 6 && memcmp(id, "tally/", 6) == 0;
	return 1;
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
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE);
	/* A client trusts no certificate, so that a server which presents one instead of the key fails. */
	SSL_CTX_set_verify(ctx, server ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_psk_use_session_callback(ctx, offer_psk);
	SSL_CTX_set_psk_find_session_callback(ctx, find_psk);
	return ctx;
}

static int
start_tls(struct tls *t)
{
	BIO *b;

	if ((t->ctx = new_context(t->server)) == NULL || (t->ssl = SSL_new(t->ctx)) == NULL ||
	    (t->method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "a job's socket")) == NULL)
		return err_nomem();
	BIO_meth_set_read(t->method, sock_read);
	BIO_meth_set_write(t->method, sock_write);
	BIO_meth_set_ctrl(t->method, sock_ctrl);
	if ((b = BIO_new(t->method)) == NULL)
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

int
tls_new(int fd, bool server, const uint8_t key[TLS_KEY], struct tls **out)
{
	struct tls *t = calloc(1, sizeof(*t));

	if (t == NULL || (t->out = malloc(SHAKE)) == NULL) {
		free(t);
		return err_nomem();
	}
	t->room = SHAKE;
	t->fd = fd;
	t->server = server;
	t->allow = TLS_SHAKE_MOST;
	memcpy(t->key, key, sizeof(t->key));
	snprintf(t->name, sizeof(t->name), "tally/%u", MSG_VERSION);
	*out = t;
	return 0;
}

void
tls_free(struct tls *t)
{
	if (t == NULL)
		return;
	if (t->open && !t->stuck && t->down == 0) {
		ERR_clear_error();
		SSL_shutdown(t->ssl);
		tls_flush(t);
	}
	SSL_free(t->ssl);
	SSL_CTX_free(t->ctx);
	BIO_meth_free(t->method);
	OPENSSL_cleanse(t->key, sizeof(t->key));
	free(t->out);
	free(t);
}

static int
fail_broken(const struct tls *t)
{
	const char *what = t->open ? "the connection broke" : t->server ?
	    "disconnected before it proved the job's key" :
	    "cannot be reached";

	if (t->down != END)
		return err_fail(ERR_PEER, "%s: %s", what, strerror(t->down));
	return err_fail(ERR_PEER, "%s", t->open ? "the connection broke: it ended without close_notify" :
	    "disconnected before it proved the job's key");
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
	if (t->other_version)
		return err_fail(ERR_AUTH, "has another version of the protocol, not %s", t->name);
	if (reason == SSL_R_BINDER_DOES_NOT_VERIFY)
		return err_fail(ERR_AUTH, "holds the key of another job");
	if (reason > SSL_AD_REASON_OFFSET)
		return err_fail(ERR_AUTH, "refused this job's key: it holds another key, or has another version");
	return err_fail(ERR_AUTH, "does not hold this job's key (%s)", get_tls_reason());
}

/* After the handshake: wipes the key and enlarges the buffers. */
static int
open_session(struct tls *t)
{
	uint8_t *out;

	if (!SSL_session_reused(t->ssl))
		return err_fail(ERR_AUTH, "did not prove this job's key");
	if ((out = realloc(t->out, OUT)) == NULL)
		return err_nomem();
	t->out = out;
	t->room = OUT;
	OPENSSL_cleanse(t->key, sizeof(t->key));
	SSL_free_buffers(t->ssl);
	SSL_set_default_read_buffer_len(t->ssl, AHEAD);
	SSL_set_read_ahead(t->ssl, 1);
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
		t->down = r == 0 ? END : errno;
		return fail_broken(t);
	}
	if (first == 't')
		return err_fail(ERR_AUTH, "has no key (--plain), and this job has one");
	if (first != SSL3_RT_HANDSHAKE)
		return err_fail(ERR_AUTH, "does not speak TLS");
	return 1;
}

int
tls_shake(struct tls *t)
{
	int r, e;

	if (t->open)
		return 1;
	if (t->ssl == NULL && ((t->server && (e = check_first_byte(t)) <= 0) || (e = start_tls(t)) < 0))
		return e;
	ERR_clear_error();
	r = SSL_do_handshake(t->ssl);
	e = SSL_get_error(t->ssl, r);
	tls_flush(t);
	if (r == 1)
		return open_session(t);
	if (e != SSL_ERROR_WANT_READ && e != SSL_ERROR_WANT_WRITE)
		return fail_refused(t);
	if (t->down != 0)
		return fail_broken(t);
	if (t->allow == 0)
		return err_fail(ERR_AUTH, "sent %d bytes and did not prove this job's key", TLS_SHAKE_MOST);
	return 0;
}

void
tls_allow(struct tls *t, size_t bytes)
{
	t->allow = bytes;
}

/* Returns the error, or 0 if a call on an open connection moved nothing because the socket was not ready. */
static int
check_empty_call(struct tls *t, int r)
{
	int e = SSL_get_error(t->ssl, r);

	if (e == SSL_ERROR_ZERO_RETURN)
		return err_fail(ERR_PEER, "closed the connection");
	if (e != SSL_ERROR_WANT_READ && e != SSL_ERROR_WANT_WRITE)
		return err_fail(ERR_PEER, "the connection broke: %s", get_tls_reason());
	return t->down != 0 ? fail_broken(t) : 0;
}

int
tls_read(struct tls *t, void *p, size_t n, size_t *got)
{
	int r;

	*got = 0;
	ERR_clear_error();
	r = SSL_read_ex(t->ssl, p, n, got);
	return r == 1 ? 0 : check_empty_call(t, r);
}

int
tls_write(struct tls *t, const void *p, size_t n, size_t *put)
{
	int r;

	*put = 0;
	if (t->down != 0)
		return 0;	/* tls_read() reports it, after the peer's last bytes */
	ERR_clear_error();
	if (t->records >= TLS_REKEY && !t->stuck) {
		SSL_key_update(t->ssl, SSL_KEY_UPDATE_NOT_REQUESTED);
		t->records = 0;
	}
	r = SSL_write_ex(t->ssl, p, n, put);
	t->stuck = r != 1;
	t->records += r == 1;
	return r == 1 || t->down != 0 ? 0 : check_empty_call(t, r);
}

size_t
tls_held(const struct tls *t)
{
	return t->n - t->at;
}

bool
tls_wants_out(const struct tls *t)
{
	return t->at < t->n || (t->ssl == NULL ? !t->server : SSL_want_write(t->ssl));
}
