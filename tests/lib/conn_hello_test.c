/* conn_hello_test - the ClientHello of a connection: who made it holds the key, and nobody repeats it. */
#include "tap.h"
#include "ends.h"

#include "wire/tls.h"

#include <string.h>

static const uint8_t key[CONN_KEY] = { 1, 2, 3 };

/* The bytes of a ClientHello, to our end of a connection, which refuses those in h. */
static void
send_hello(struct ends *e, struct tls_hellos *h, const uint8_t *p, ssize_t n)
{
	int fd = ends_stranger(e, key);

	conn_refuse_repeats(e->b, h);
	if (send(fd, p, (size_t)n, 0) == n)
		poll(&(struct pollfd){ .fd = conn_fd(e->b), .events = POLLIN }, 1, PATIENCE_S * 1000);
	ends_step(e->b, &e->eb, e->lb);
	close(fd);
}

static void
test_hellos(void)
{
	static struct tls_hellos h, later;
	uint8_t hello[4096];
	struct ends e;
	ssize_t n;
	int fd, listener;

	e = (struct ends){ 0 };
	listener = ends_listen(e.where);
	conn_dial(e.where, key, CONN_WORKER, &e.a);
	fd = ends_accept(listener);
	do
		ends_step(e.a, &e.ea, e.la);
	while (poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 10) == 0 && e.ea == 0);
	n = recv(fd, hello, sizeof(hello), 0);
	ok(n > 0, "a ClientHello is overheard");
	close(fd);
	close(listener);
	ends_close(&e);

	send_hello(&e, &h, hello, n);
	ok(e.eb == 0 && conn_credible(e.b) && !conn_open(e.b), "a ClientHello of a holder of the key is credible");
	ends_close(&e);
	send_hello(&e, &h, hello, n);
	ok(e.eb == ERR_AUTH && !conn_credible(e.b), "a ClientHello is refused the second time: %s", e.lb);
	ends_close(&e);
	send_hello(&e, &later, hello, n);
	ok(e.eb == 0 && conn_credible(e.b), "a listener that has not seen it accepts it once");
	ends_close(&e);
	for (ssize_t i = 11; i < n; i += 24) {		/* after its head */
		hello[i] ^= 1;
		send_hello(&e, NULL, hello, n);
		if (e.eb != ERR_AUTH || conn_credible(e.b))
			ok(false, "a ClientHello is refused that was changed at byte %zd", i);
		hello[i] ^= 1;
		ends_close(&e);
	}
	hello[n - 1] ^= 1;
	send_hello(&e, &h, hello, n);
	ok(e.eb == ERR_AUTH && strstr(e.lb, "names this job's key, but does not hold it") != NULL,
	    "a ClientHello with another proof is refused: %s", e.lb);
	ends_close(&e);
}

int
main(void)
{
	test_hellos();
	return done();
}
