/* addr_test - addresses from text, listening sockets with their true port, and connections between them. */
#include "base/err.h"
#include "tap.h"
#include "wire/addr.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

static void
test_split(void)
{
	static const struct { const char *text, *host, *port; } good[] = {
		{ "localhost:2221", "localhost", "2221" }, { "10.0.0.1:0", "10.0.0.1", "0" }, { "[::1]:65535", "::1", "65535" },
		{ "[fe80::1%eth0]:80", "fe80::1%eth0", "80" }, { "a:007", "a", "7" }, { "node-3.example:1", "node-3.example", "1" },
	};
	static const struct { const char *text; int code; } bad[] = {
		{ "", ERR_FORMAT }, { "host", ERR_FORMAT }, { ":80", ERR_FORMAT }, { "host:", ERR_FORMAT }, { "host:x", ERR_FORMAT },
		{ "host:-1", ERR_FORMAT }, { "host:65536", ERR_LIMIT }, { "::1:80", ERR_FORMAT }, { "[]:80", ERR_FORMAT },
		{ "[::1]", ERR_FORMAT }, { "[::1:80", ERR_FORMAT }, { "a b:80", ERR_FORMAT }, { "a\n:80", ERR_FORMAT },
		{ "user@a:80", ERR_FORMAT }, { "a/b:80", ERR_FORMAT }, { "host: 80", ERR_FORMAT },
		{ "host:99999999999999999999", ERR_LIMIT },
	};
	char host[ADDR_TEXT], port[8], text[400];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		ok(addr_split(good[i].text, host, port) == 0 && strcmp(host, good[i].host) == 0 &&
		    strcmp(port, good[i].port) == 0, "'%s' is %s and %s", good[i].text, good[i].host, good[i].port);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		is(addr_split(bad[i].text, host, port), bad[i].code, "bad address %zu is refused", i);
	memset(text, 'a', sizeof(text));
	strcpy(text + ADDR_TEXT - 4, ":80");
	is(addr_split(text, host, port), 0, "the longest text is taken");
	memset(text, 'a', sizeof(text));
	strcpy(text + ADDR_TEXT - 3, ":80");
	is(addr_split(text, host, port), ERR_LIMIT, "a text of one byte more is refused");
}

/* Takes the connection that is coming in; -1 when none does within seconds. */
static int
take(int listener)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };

	return poll(&p, 1, 5000) == 1 ? accept(listener, NULL, NULL) : -1;
}

static void
test_meet(const char *at, const char *host, const char *numeric)
{
	char where[ADDR_TEXT], peer[ADDR_TEXT], byte;
	int listener, out = -1, in, on = 0;
	socklen_t n = sizeof(on);

	if (addr_listen(at, &listener, where) < 0) {
		skip(at, "no such family here");
		return;
	}
	ok(strncmp(where, host, strlen(host)) == 0 && where[strlen(host)] == ':' && strcmp(where + strlen(host), ":0") != 0,
	    "listening at %s: %s", at, where);
	is(accept(listener, NULL, NULL), -1, "nobody is there");
	ok(errno == EAGAIN, "waiting for a caller does not block");
	is(addr_dial(where, &out), 0, "an address in text is dialled");
	in = take(listener);
	ok(in >= 0, "the call is accepted");
	is(read(out, &byte, 1), -1, "reading does not block");
	ok((fcntl(out, F_GETFD) & FD_CLOEXEC) != 0 && (fcntl(listener, F_GETFD) & FD_CLOEXEC) != 0, "no child inherits them");
	ok(getsockopt(out, IPPROTO_TCP, TCP_NODELAY, &on, &n) == 0 && on == 1, "small messages leave at once");
	ok(addr_peer(out, peer), "a connected socket has a peer");
	ok(strncmp(peer, numeric, strlen(numeric)) == 0 && strcmp(peer + strlen(numeric), where + strlen(host)) == 0,
	    "the peer's address in numbers: %s", peer);
	close(in);
	close(out);
	close(listener);
	snprintf(peer, sizeof(peer), "before");
	ok(!addr_peer(listener, peer), "a closed socket has no peer");
	is_str(peer, "before", "addr_peer writes no address of a closed socket");
}

static void
test_refused(void)
{
	char where[ADDR_TEXT], again[ADDR_TEXT];
	int listener, second = -1;

	is(addr_listen("127.0.0.1:0", &listener, where), 0, "a free port is listened at");
	is(addr_listen(where, &second, again), ERR_SYS, "a port is not listened at twice");
	ok(strstr(err_line(), where) != NULL && strstr(err_line(), "in use") != NULL, "the line: %s", err_line());
	is(second, -1, "a failed addr_listen() leaves no descriptor");
	close(listener);
	is(addr_dial("no..host:80", &second), ERR_SYS, "a name that cannot exist");
	ok(strstr(err_line(), "no..host") != NULL, "the line: %s", err_line());
}

int
main(void)
{
	test_split();
	test_meet("127.0.0.1:0", "127.0.0.1", "127.0.0.1");
	test_meet("localhost:0", "localhost", "127.0.0.1");
	test_meet("[::1]:0", "[::1]", "[::1]");
	test_refused();
	return done();
}
