/* addr - addresses as text, "host:port" or "[v6]:port", and as sockets. */
#include "wire/addr.h"
#include "base/err.h"
#include "base/num.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SYN_REPEATS 1	/* of the system in an attempt to connect */

int
addr_split(const char *text, char host[ADDR_TEXT], char port[8])
{
	const char *colon = strrchr(text, ':');
	size_t n = colon == NULL ? 0 : (size_t)(colon - text);
	bool v6 = n > 2 && text[0] == '[' && text[n - 1] == ']';
	uint64_t number;
	int e;

	if (strlen(text) >= ADDR_TEXT)
		return err_fail(ERR_LIMIT, "'%.32s...' is too long for an address", text);
	if (v6) {
		text++;
		n -= 2;
	}
	if (n == 0)
		return err_fail(ERR_FORMAT, "'%s' is not host:port", text);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] <= ' ' || text[i] == 127 || strchr("[]/@", text[i]) != NULL)
			return err_fail(ERR_FORMAT, "a host name cannot contain byte %d", (unsigned char)text[i]);
	if (!v6 && memchr(text, ':', n) != NULL)
		return err_fail(ERR_FORMAT, "'%s' is not host:port; an IPv6 address stands in brackets", text);
	if ((e = num_u64(colon + 1, 0, 65535, &number)) < 0) {
		err_within("port");
		return e;
	}
	memcpy(host, text, n);
	host[n] = 0;
	snprintf(port, 8, "%u", (unsigned)number);
	return 0;
}

/*
 * A name may have addresses of both families.  Listeners and clients both prefer IPv4, so that they use the same one.
 */
static int
resolve_address(const char *host, const char *port, int flags, struct addrinfo **all, const struct addrinfo **best)
{
	struct addrinfo hint = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM,
	    .ai_flags = flags | AI_NUMERICSERV };
	int r = getaddrinfo(host, port, &hint, all);

	if (r == EAI_SYSTEM)
		return err_sys("%s", host);
	if (r == EAI_MEMORY)
		return err_nomem();
	if (r != 0)
		return err_fail(ERR_SYS, "%s: %s", host, gai_strerror(r));
	*best = *all;
	for (const struct addrinfo *a = *all; a != NULL; a = a->ai_next)
		if (a->ai_family == AF_INET) {
			*best = a;
			break;
		}
	return 0;
}

static int
open_stream_socket(const struct addrinfo *a, int level, int option)
{
	int on = 1, fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd >= 0)
		setsockopt(fd, level, option, &on, sizeof(on));
	return fd;
}

static unsigned
get_bound_port(int fd)
{
	struct sockaddr_storage s;
	socklen_t n = sizeof(s);

	if (getsockname(fd, (struct sockaddr *)&s, &n) < 0)
		return 0;
	return ntohs(s.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&s)->sin6_port :
	    ((struct sockaddr_in *)&s)->sin_port);
}

static void
join_address(char where[ADDR_TEXT], const char *host, const char *port)
{
	snprintf(where, ADDR_TEXT, strchr(host, ':') != NULL ? "[%.264s]:%.7s" : "%.264s:%.7s", host, port);
}

int
addr_listen(const char *text, int *fd, char where[ADDR_TEXT])
{
	char host[ADDR_TEXT], port[8];
	struct addrinfo *all;
	const struct addrinfo *a;
	int e = 0, s;

	ERR_TRY(addr_split(text, host, port));
	ERR_TRY(resolve_address(host, port, AI_PASSIVE, &all, &a));
	/* A restarted server can take its old port although connections of the old process linger. */
	s = open_stream_socket(a, SOL_SOCKET, SO_REUSEADDR);
	if (s < 0 || bind(s, a->ai_addr, a->ai_addrlen) < 0 || listen(s, SOMAXCONN) < 0) {
		e = err_sys("listen at %s", text);
		if (s >= 0)
			close(s);
	} else {
		snprintf(port, sizeof(port), "%u", get_bound_port(s));
		join_address(where, host, port);
		*fd = s;
	}
	freeaddrinfo(all);
	return e;
}

int
addr_dial(const char *text, int *fd)
{
	char host[ADDR_TEXT], port[8];
	struct addrinfo *all;
	const struct addrinfo *a;
	int e = 0, s, keep = 0;

	ERR_TRY(addr_split(text, host, port));
	ERR_TRY(resolve_address(host, port, 0, &all, &a));
	s = open_stream_socket(a, IPPROTO_TCP, TCP_NODELAY);
	if (s >= 0)
		setsockopt(s, IPPROTO_TCP, TCP_SYNCNT, &(int){ SYN_REPEATS }, sizeof(int));
	if (s < 0 || (connect(s, a->ai_addr, a->ai_addrlen) < 0 && errno != EINPROGRESS)) {
		keep = errno;
		e = err_sys("connect to %s", text);
		if (s >= 0)
			close(s);
	} else {
		*fd = s;
	}
	freeaddrinfo(all);
	errno = keep;
	return e;
}

bool
addr_peer(int fd, char where[ADDR_TEXT])
{
	struct sockaddr_storage s;
	socklen_t n = sizeof(s);
	char host[128], port[8];

	if (getpeername(fd, (struct sockaddr *)&s, &n) < 0 || getnameinfo((struct sockaddr *)&s, n, host, sizeof(host),
	    port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return false;
	join_address(where, host, port);
	return true;
}
