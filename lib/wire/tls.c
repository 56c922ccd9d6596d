/* tls - plain bytes in, TLS 1.3 records on a socket out, and back. */
#include "wire/tls_in.h"
#include "base/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <openssl/ssl.h>

#define EMPTY	32u		/* most records without data before one with data */
#define SHAKE	2048		/* bytes of our part of the handshake, and more */

size_t
tls_receive(struct tls *t, void *p, size_t n)
{
	ssize_t r;

	n = n < t->allow ? n : t->allow;
	if (n == 0)
		return 0;
	r = recv(t->fd, p, n, MSG_DONTWAIT);
	if (r > 0) {
		t->allow -= (size_t)r;
		t->received += (size_t)r;
		return (size_t)r;
	}
	if (t->down == 0 && (r == 0 || (errno != EAGAIN && errno != EINTR)))
		t->down = r == 0 ? TLS_END : errno;
	return 0;
}

bool
tls_make_room(struct tls *t, size_t n)
{
	if (n > t->room - t->n)
		tls_flush(t);
	return n <= t->room - t->n;
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
tls_byte_counts(const struct tls *t, uint64_t *received, uint64_t *sent)
{
	*received = t->received;
	*sent = t->sent;
}

int
tls_fail_broken(const struct tls *t)
{
	const char *what = t->open ? "the connection broke" : t->server ?
	    "disconnected before it proved the job's key" :
	    "cannot be reached";

	if (t->down == TLS_CLOSED)
		return err_fail(ERR_PEER, "closed the connection");
	if (t->down != TLS_END)
		return err_fail(ERR_PEER, "%s: %s", what, strerror(t->down));
	return err_fail(ERR_PEER, "%s", t->open ? "the connection broke: it ended without close_notify" :
	    "disconnected before it proved the job's key");
}

int
tls_new(int fd, bool server, const uint8_t key[TLS_KEY], const char *role, struct tls **out)
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
	t->key = key;
	t->role = role;
	*out = t;
	return 0;
}

void
tls_refuse_repeats(struct tls *t, struct tls_hellos *h)
{
	t->hellos = h;
}

bool
tls_credible(const struct tls *t)
{
	return t->credible;
}

/* Seals a record into the write buffer if there is room.  Returns 1, 0 or ERR_NOMEM. */
static int
seal_record(struct tls *t, unsigned type, const void *p, size_t n)
{
	if (!tls_make_room(t, SEAL_HEAD + n + SEAL_TAIL))
		return 0;
	ERR_TRY(seal_put(&t->send, type, p, n, t->out + t->n));
	t->n += SEAL_HEAD + n + SEAL_TAIL;
	return 1;
}

void
tls_free(struct tls *t)
{
	static const uint8_t close_notify[] = { SSL3_AL_WARNING, SSL3_AD_CLOSE_NOTIFY };

	if (t == NULL)
		return;
	if (t->open && t->down == 0 && seal_record(t, SEAL_ALERT, close_notify, sizeof(close_notify)) > 0)
		tls_flush(t);
	tls_end_handshake(t);
	seal_free(&t->send);
	seal_free(&t->receive);
	free(t->out);
	free(t->in);
	free(t->rest);
	free(t);
}

void
tls_alert(struct tls *t, uint8_t alert)
{
	const uint8_t record[] = { SSL3_RT_ALERT, 3, 3, 0, 2, SSL3_AL_FATAL, alert };

	if (!tls_make_room(t, sizeof(record)))
		return;
	memcpy(t->out + t->n, record, sizeof(record));
	t->n += sizeof(record);
	tls_flush(t);
}

void
tls_allow(struct tls *t, size_t bytes)
{
	t->allow = bytes;
}

/* Ends the connection after an invalid record, with an alert for the peer if there is room for it. */
static int
refuse_record(struct tls *t, uint8_t alert, const char *why)
{
	const uint8_t fatal[] = { SSL3_AL_FATAL, alert };

	if (seal_record(t, SEAL_ALERT, fatal, sizeof(fatal)) > 0)
		tls_flush(t);
	t->down = EPROTO;	/* nothing follows an alert */
	return err_fail(ERR_PEER, "the connection broke: %s", why);
}

/* Handles a record that has no data: an alert or a change of the peer's keys. */
static int
handle_control(struct tls *t, unsigned type, const uint8_t *p, size_t n)
{
	static const uint8_t key_update[] = { SSL3_MT_KEY_UPDATE, 0, 0, 1 };

	if (type == SEAL_ALERT && n == 2 && p[1] == SSL3_AD_CLOSE_NOTIFY) {
		t->down = TLS_CLOSED;
		return tls_fail_broken(t);
	}
	if (type == SEAL_ALERT && n == 2)
		return err_fail(ERR_PEER, "the connection broke: %s", SSL_alert_desc_string_long(p[1]));
	if (type != SEAL_HANDSHAKE || n != sizeof(key_update) + 1 || p[n - 1] > SSL_KEY_UPDATE_REQUESTED ||
	    memcmp(p, key_update, sizeof(key_update)) != 0)
		return refuse_record(t, SSL_AD_UNEXPECTED_MESSAGE, "a record of TLS that has no place here");
	t->rekey |= p[sizeof(key_update)] == SSL_KEY_UPDATE_REQUESTED;
	return seal_update(&t->receive);
}

/*
 * Opens the next record if it is complete, into p [n] if it has room for it.  Returns 1, 0 if it is not complete, or
 * an error.
 */
static int
open_record(struct tls *t, uint8_t *p, size_t n, size_t *got)
{
	size_t have = t->in_n - t->in_at, length;
	const uint8_t *record = t->in + t->in_at;
	unsigned type;
	uint8_t *to;
	int e;

	if (have < SEAL_HEAD)
		return 0;
	if ((length = seal_length(record)) == 0)
		return refuse_record(t, SSL_AD_UNEXPECTED_MESSAGE, "no record of TLS");
	if (have < length)
		return 0;
	to = n >= length - SEAL_HEAD - SEAL_TAIL ? p : t->rest;
	t->in_at += length;
	if (!seal_get(&t->receive, record, to, &length, &type))
		return refuse_record(t, SSL_AD_BAD_RECORD_MAC, "a record of TLS was changed on the way");
	if (type != SEAL_DATA)
		return (e = handle_control(t, type, to, length)) < 0 ? e : 1;
	if (to == p) {
		*got = length;
	} else {
		t->rest_at = 0;
		t->rest_n = length;
	}
	return 1;
}

/* Receives what follows the beginning of a record.  Returns whether there was anything. */
static bool
receive_records(struct tls *t)
{
	size_t got;

	t->in_n -= t->in_at;
	if (t->in_at > 0 && t->in_n > 0)
		memmove(t->in, t->in + t->in_at, t->in_n);
	t->in_at = 0;
	got = tls_receive(t, t->in + t->in_n, TLS_AHEAD - t->in_n);
	t->in_n += got;
	return got > 0;
}

int
tls_read(struct tls *t, void *p, size_t n, size_t *got)
{
	int e = 0;

	*got = 0;
	for (unsigned records = 0; *got == 0 && e >= 0; records++) {
		if (records > EMPTY)
			return err_fail(ERR_PEER, "the connection broke: %u records of TLS without data", EMPTY);
		if (t->rest_at < t->rest_n) {
			*got = n < t->rest_n - t->rest_at ? n : t->rest_n - t->rest_at;
			memcpy(p, t->rest + t->rest_at, *got);
			t->rest_at += *got;
			return 0;
		}
		if ((e = open_record(t, p, n, got)) == 0 && !receive_records(t))
			return t->down != 0 && t->allow > 0 ? tls_fail_broken(t) : 0;
	}
	return e < 0 ? e : 0;
}

/* Returns 1, 0 if there is no room for the message that announces the new keys, or ERR_NOMEM. */
static int
change_keys(struct tls *t)
{
	static const uint8_t update[] = { SSL3_MT_KEY_UPDATE, 0, 0, 1, SSL_KEY_UPDATE_NOT_REQUESTED };
	int e = seal_record(t, SEAL_HANDSHAKE, update, sizeof(update));

	if (e <= 0 || (e = seal_update(&t->send)) < 0)
		return e;
	t->rekey = false;
	return 1;
}

int
tls_write(struct tls *t, const void *p, size_t n, size_t *put)
{
	int e;

	*put = 0;
	n = n < SEAL_MOST ? n : SEAL_MOST;
	if (t->down != 0)
		return 0;	/* tls_read() reports it, after the peer's last bytes */
	if ((t->rekey || t->send.records >= TLS_REKEY) && (e = change_keys(t)) <= 0)
		return e;
	if ((e = seal_record(t, SEAL_DATA, p, n)) > 0)
		*put = n;
	return e < 0 ? e : 0;
}

int
tls_down(const struct tls *t)
{
	return t->down;
}

size_t
tls_held(const struct tls *t)
{
	return t->n - t->at;
}

bool
tls_wants_out(const struct tls *t)
{
	return t->at < t->n || (!t->open && (t->ssl == NULL ? !t->server : SSL_want_write(t->ssl)));
}
