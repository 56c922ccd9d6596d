/* tls_test - a connection to a plain TLS library: standard TLS 1.3 with the key, a refusal without it. */
#include "tap.h"
#include "wire/tls_in.h"

#include "ends.h"

#include <signal.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

static const uint8_t key[CONN_KEY + 1] = "what only this job's processes k";
static const uint8_t wrong[CONN_KEY + 1] = "what only this job's processes K";

/* How a foreign peer comes. */
struct guise {
	const char	*name;		/* of the key; NULL: none is offered */
	const uint8_t	*key;
	int		 version;	/* the newest it speaks */
	const char	*groups, *suites;
	int		 id;		/* of the suite the key belongs to: 1, 2 or 3 */
	const char	*says;		/* in our line; NULL: it is let in */
};

/* The name of a key as wire(5) has it: in a shell, printf 'tally job %s' KEY | sha256sum | cut -c 1-16. */
static const char *
name_key(const uint8_t *of, const char *role)
{
	static char name[64];
	uint8_t text[10 + 2 * CONN_KEY + 1] = "tally job ", hash[EVP_MAX_MD_SIZE];
	size_t n;

	for (int i = 0; i < CONN_KEY; i++)
		snprintf((char *)text + 10 + 2 * i, 3, "%02x", of[i]);
	EVP_Digest(text, 10 + 2 * CONN_KEY, hash, NULL, EVP_sha256(), NULL);
	n = (size_t)snprintf(name, sizeof(name), "tally/10 %s ", role);
	for (int i = 0; i < 8; i++)
		n += (size_t)snprintf(name + n, sizeof(name) - n, "%02x", hash[i]);
	return name;
}

static const struct guise *now;
static unsigned tickets, updates;

static int
offer(SSL *ssl, const EVP_MD *md, const unsigned char **id, size_t *n, SSL_SESSION **s)
{
	unsigned char suite[2] = { 0x13, (unsigned char)now->id };

	*s = SSL_SESSION_new();
	SSL_SESSION_set1_master_key(*s, now->key, CONN_KEY);
	SSL_SESSION_set_cipher(*s, SSL_CIPHER_find(ssl, suite));
	SSL_SESSION_set_protocol_version(*s, TLS1_3_VERSION);
	*id = (const unsigned char *)now->name;
	*n = strlen(now->name);
	return md == NULL || md == SSL_CIPHER_get_handshake_digest(SSL_CIPHER_find(ssl, suite));
}

static int
ticket(SSL *ssl, SSL_SESSION *s)
{
	(void)ssl, (void)s;
	tickets++;
	return 0;
}

static void
overhear(int out, int version, int type, const void *p, size_t n, SSL *ssl, void *arg)
{
	(void)version, (void)ssl, (void)arg;
	updates += !out && type == SSL3_RT_HANDSHAKE && n > 0 && *(const uint8_t *)p == SSL3_MT_KEY_UPDATE;
}

/* A client of a plain library, connected to our server end. */
static SSL *
visitor(struct ends *e, const struct guise *g)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	SSL *ssl;

	now = g;
	SSL_CTX_set_max_proto_version(ctx, g->version);
	if (g->groups != NULL)
		SSL_CTX_set1_groups_list(ctx, g->groups);
	if (g->suites != NULL)
		SSL_CTX_set_ciphersuites(ctx, g->suites);
	if (g->name != NULL)
		SSL_CTX_set_psk_use_session_callback(ctx, offer);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT);
	SSL_CTX_sess_set_new_cb(ctx, ticket);
	SSL_CTX_set_msg_callback(ctx, overhear);
	ssl = SSL_new(ctx);
	SSL_CTX_free(ctx);
	SSL_set_fd(ssl, ends_stranger(e, key));
	SSL_set_connect_state(ssl);
	return ssl;
}

static void
visit_end(struct ends *e, SSL *ssl)
{
	int fd = SSL_get_fd(ssl);

	SSL_free(ssl);
	close(fd);
	ends_close(e);
}

/* Runs both until our end is open or has refused, and theirs has heard of it. */
static int
shake(struct ends *e, SSL *ssl)
{
	double start = clk_s();
	int r = 0;

	while (clk_s() - start < PATIENCE_S) {
		struct conn *c = e->a != NULL ? e->a : e->b;
		int *error = e->a != NULL ? &e->ea : &e->eb;

		r = SSL_do_handshake(ssl);
		ends_step(c, error, e->a != NULL ? e->la : e->lb);
		if (*error != 0 || (r == 1 && conn_open(c)))
			break;
	}
	ERR_clear_error();
	return r;
}

static void
test_visitors(void)
{
	char *name = strdup(name_key(key, "worker")), *other = strdup(name_key(wrong, "worker"));
	char *reader = strdup(name_key(key, "reader")), *none = strdup(name_key(key, "\033[2J"));
	const struct guise guises[] = {
		{ name, key, TLS1_3_VERSION, NULL, NULL, 1, NULL },
		{ other, wrong, TLS1_3_VERSION, NULL, NULL, 1, "holds the key of another job" },
		{ name, wrong, TLS1_3_VERSION, NULL, NULL, 1, "names this job's key, but does not hold it" },
		{ reader, key, TLS1_3_VERSION, NULL, NULL, 1, "is a reader, not a worker" },
		{ none, key, TLS1_3_VERSION, NULL, NULL, 1, "is a stranger, not a worker" },
		{ "tally/0", key, TLS1_3_VERSION, NULL, NULL, 1, "another version of the protocol, not tally/10" },
		{ "tally/10", key, TLS1_3_VERSION, NULL, NULL, 1, "holds the key of another job" },
		{ "guess", key, TLS1_3_VERSION, NULL, NULL, 1, "does not hold this job's key" },
		{ NULL, NULL, TLS1_3_VERSION, NULL, NULL, 1, "does not hold this job's key" },
		{ NULL, NULL, TLS1_2_VERSION, NULL, NULL, 1, "does not hold this job's key" },
		{ name, key, TLS1_3_VERSION, "P-256", NULL, 1, "does not hold this job's key" },
		{ name, key, TLS1_3_VERSION, NULL, "TLS_CHACHA20_POLY1305_SHA256", 3, "does not hold this job's key" },
		{ name, key, TLS1_3_VERSION, NULL, "TLS_AES_256_GCM_SHA384", 2, "does not hold this job's key" },
	};
	struct ends e;

	for (size_t i = 0; i < sizeof(guises) / sizeof(guises[0]); i++) {
		SSL *ssl = visitor(&e, &guises[i]);
		int r = shake(&e, ssl);

		if (guises[i].says == NULL) {
			ok(r == 1 && conn_open(e.b), "a plain library with key and name is accepted");
			is_str(SSL_get_version(ssl), "TLSv1.3", "the connection is TLS 1.3");
			is_str(SSL_get_cipher(ssl), "TLS_AES_128_GCM_SHA256", "the connection has the one suite");
			is(SSL_get_negotiated_group(ssl), NID_X25519, "the connection has a fresh secret by X25519");
		} else
			ok(e.eb == ERR_AUTH && !conn_open(e.b) && strstr(e.lb, guises[i].says) != NULL, "guise %zu: %s", i, e.lb);
		visit_end(&e, ssl);
	}
	free(name);
	free(other);
	free(reader);
	free(none);
}

static void
test_flood(void)
{
	/* A handshake record of 16384 bytes, the beginning of a ClientHello of 65000. */
	static uint8_t bytes[60000] = { 22, 3, 1, 0x40, 0, 1, 0, 0xfd, 0xe8, 3, 3 };
	struct ends e;
	int fd = ends_stranger(&e, key);

	ok(send(fd, bytes, sizeof(bytes), 0) > TLS_SHAKE_MOST, "a hello without an end is sent");
	ok(ends_run(&e, ends_over_b) && e.eb == ERR_AUTH, "a hello without an end is refused: %s", e.lb);
	ok(strstr(e.lb, "4096 bytes") != NULL, "the refusal names the limit");
	close(fd);
	ends_close(&e);
}

/* A certificate for anybody. */
static void
certify(SSL_CTX *ctx)
{
	EVP_PKEY *pair = EVP_EC_gen("P-256");
	X509 *x = X509_new();

	ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
	X509_gmtime_adj(X509_getm_notBefore(x), -3600);
	X509_gmtime_adj(X509_getm_notAfter(x), 3600);
	X509_set_pubkey(x, pair);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC, (const unsigned char *)"127.0.0.1", -1, -1, 0);
	X509_set_issuer_name(x, X509_get_subject_name(x));
	X509_sign(x, pair, EVP_sha256());
	SSL_CTX_use_certificate(ctx, x);
	SSL_CTX_use_PrivateKey(ctx, pair);
	X509_free(x);
	EVP_PKEY_free(pair);
}

static void
test_false_server(void)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	struct ends e = { 0 };
	int listener = ends_listen(e.where);
	SSL *ssl;
	int fd;

	certify(ctx);
	conn_dial(e.where, key, CONN_WORKER, &e.a);
	fd = ends_accept(listener);
	ssl = SSL_new(ctx);
	SSL_set_fd(ssl, fd);
	SSL_set_accept_state(ssl);
	shake(&e, ssl);
	ok(e.ea == ERR_AUTH && !conn_open(e.a), "a server with a certificate and without the key is refused: %s", e.la);
	SSL_free(ssl);
	SSL_CTX_free(ctx);
	close(fd);
	close(listener);
	ends_close(&e);

	listener = ends_listen(e.where);
	conn_dial(e.where, key, CONN_WORKER, &e.a);
	fd = ends_accept(listener);
	ok(send(fd, "SSH-2.0-OpenSSH_9.2\r\n", 21, 0) == 21 && ends_run(&e, ends_over_a) && e.ea == ERR_AUTH,
	    "a server of another protocol is refused: %s", e.la);
	close(fd);
	close(listener);
	ends_close(&e);
}

/* Every message in a record of its own, to a plain library that counts the changes of keys. */
static void
test_rekey(void)
{
	const struct guise g = { name_key(key, "worker"), key, TLS1_3_VERSION, NULL, NULL, 1, NULL };
	const unsigned many = 2 * TLS_REKEY + 10;
	uint8_t head[MSG_HEAD];
	struct ends e;
	SSL *ssl = visitor(&e, &g);
	unsigned got = 0, sent = 0;
	double moved = clk_s();		/* an emulator or a loaded machine is slow, but it moves on */
	struct msg m;

	updates = tickets = 0;
	shake(&e, ssl);
	while (got < many && clk_s() - moved < PATIENCE_S && e.eb == 0) {
		unsigned before = got;


		for (int i = 0; i < 100 && sent < many; i++) {
			conn_send(e.b, &(struct msg){ .type = MSG_STOP, .step = sent++ });
			ends_step(e.b, &e.eb, e.lb);
		}
		while (SSL_read(ssl, head, MSG_HEAD) == MSG_HEAD)
			got += msg_parse(&m, head) == 0 && m.step == got;
		if (got > before)
			moved = clk_s();
	}
	is(got, many, "all records arrive");
	is(updates, 2, "two key updates arrive");
	is(tickets, 0, "the messages have no ticket");
	visit_end(&e, ssl);
}

static void
test_context(void)
{
	struct tls *t[4] = { NULL };	/* clients, then servers, of two keys */
	int fd[2][2], bad = 0;

	for (int i = 0; i < 2; i++)
		bad += socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd[i]) < 0;
	for (int i = 0; i < 4; i++)
		bad += tls_new(fd[i % 2][i / 2], i >= 2, i % 2 == 0 ? key : wrong, "worker", &t[i]) < 0 || tls_shake(t[i]) < 0 ||
		    t[i]->ssl == NULL;
	is(bad, 0, "two connections begin their handshakes");
	if (bad > 0)
		return;
	ok(SSL_get_SSL_CTX(t[0]->ssl) == SSL_get_SSL_CTX(t[1]->ssl) && SSL_get_SSL_CTX(t[2]->ssl) == SSL_get_SSL_CTX(t[3]->ssl),
	    "connections of a role share one TLS context");
	ok(SSL_get_SSL_CTX(t[0]->ssl) != SSL_get_SSL_CTX(t[2]->ssl), "a server has another TLS context than a client");
	for (int i = 0; i < 4; i++)
		tls_free(t[i]), close(fd[i / 2][i % 2]);
}

/* A plain library sends padded records and asks for new keys; our end reads them, and answers with new keys. */
static void
test_padding(void)
{
	const struct guise g = { name_key(key, "worker"), key, TLS1_3_VERSION, NULL, NULL, 1, NULL };
	static uint8_t bytes[MSG_HEAD + 50000];
	unsigned got = 0, bad = 0, back = 0;
	double start = clk_s();
	struct ends e;
	SSL *ssl = visitor(&e, &g);
	struct msg m;

	updates = 0;
	SSL_set_block_padding(ssl, 1000);
	shake(&e, ssl);
	for (uint32_t i = 0; i < 20; i++) {
		uint32_t n = i * i * 125;

		msg_head(&(struct msg){ .type = MSG_PUSH, .step = i, .len = n }, bytes);
		memset(bytes + MSG_HEAD, (int)i, n);
		bad += SSL_write(ssl, bytes, (int)(MSG_HEAD + n)) <= 0;
		if (i == 10)
			bad += !SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED);
		while (got <= i && e.eb == 0 && clk_s() - start < PATIENCE_S) {
			ends_step(e.b, &e.eb, e.lb);
			for (; conn_next(e.b, &m); got++)
				bad += m.step != got || m.len != n || (n > 0 && memcmp(m.payload, bytes + MSG_HEAD, n) != 0);
		}
		conn_send(e.b, &(struct msg){ .type = MSG_STOP, .step = i });
		ends_step(e.b, &e.eb, e.lb);
		back += SSL_read(ssl, bytes, MSG_HEAD) == MSG_HEAD && msg_parse(&m, bytes) == 0 && m.step == i;
	}
	ok(got == 20 && bad == 0, "padded records of a plain library are read, also after it changed its keys: %s", e.lb);
	is(back, 20, "all answers are read");
	is(updates, 1, "a peer that asks for new keys gets them");
	visit_end(&e, ssl);
}

/* A peer that changes its keys again and again, and sends no data, would keep a server from the others. */
static void
test_key_updates(void)
{
	const struct guise g = { name_key(key, "worker"), key, TLS1_3_VERSION, NULL, NULL, 1, NULL };
	struct ends e;
	SSL *ssl = visitor(&e, &g);
	unsigned sent = 0;

	shake(&e, ssl);
	while (sent < 100 && SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED) && SSL_do_handshake(ssl) == 1)
		sent++;
	is(sent, 100, "a plain library changes its keys 100 times");
	ok(ends_run(&e, ends_over_b) && e.eb == ERR_PEER && strstr(e.lb, "records of TLS without data") != NULL,
	    "too many changes of keys end the connection: %s", e.lb);
	visit_end(&e, ssl);
}

/* A plain library closes the connection in order. */
static void
test_close(void)
{
	const struct guise g = { name_key(key, "worker"), key, TLS1_3_VERSION, NULL, NULL, 1, NULL };
	struct ends e;
	SSL *ssl = visitor(&e, &g);
	char byte;

	shake(&e, ssl);
	SSL_shutdown(ssl);
	ok(ends_run(&e, ends_over_b) && e.eb == ERR_PEER && strstr(e.lb, ": closed the connection") != NULL,
	    "close_notify of a plain library ends the connection in order: %s", e.lb);
	visit_end(&e, ssl);

	ssl = visitor(&e, &g);
	shake(&e, ssl);
	conn_close(e.b);
	e.b = NULL;
	ok(SSL_read(ssl, &byte, 1) <= 0 && SSL_get_shutdown(ssl) == SSL_RECEIVED_SHUTDOWN,
	    "a plain library gets close_notify of a connection that is closed");
	visit_end(&e, ssl);
}

/* A record that was changed on the way, or is none: our end says so before it closes. */
static void
test_alerts(void)
{
	const struct guise g = { name_key(key, "worker"), key, TLS1_3_VERSION, NULL, NULL, 1, NULL };
	static const struct { const char *what; uint8_t record[5 + 32]; size_t n; int alert; } sent[] = {
		{ "a damaged record", { 23, 3, 3, 0, 32 }, 37, SSL_AD_BAD_RECORD_MAC },
		{ "what is no record", { 99, 3, 3, 0, 32 }, 5, SSL_AD_UNEXPECTED_MESSAGE },
	};
	struct ends e;
	char byte;

	for (size_t i = 0; i < sizeof(sent) / sizeof(sent[0]); i++) {
		SSL *ssl = visitor(&e, &g);

		shake(&e, ssl);
		ok(send(SSL_get_fd(ssl), sent[i].record, sent[i].n, MSG_NOSIGNAL) == (ssize_t)sent[i].n &&
		    ends_run(&e, ends_over_b) && e.eb == ERR_PEER, "%s ends the connection: %s", sent[i].what, e.lb);
		ok(SSL_read(ssl, &byte, 1) <= 0 && ERR_GET_REASON(ERR_peek_error()) == SSL_AD_REASON_OFFSET + sent[i].alert,
		    "a plain library gets the alert: %s", ERR_reason_error_string(ERR_peek_error()));
		ERR_clear_error();
		visit_end(&e, ssl);
	}
}

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);	/* the plain library's sockets raise it; ours must not: conn_test */
	test_visitors();
	test_flood();
	test_false_server();
	test_rekey();
	test_context();
	test_padding();
	test_key_updates();
	test_close();
	test_alerts();
	return done();
}
