/* worker_name_test - a worker returns to a server that it has reached although the server's name is found no more. */
#include "one_worker.h"
#include "tap.h"

#include "base/err.h"

#include <dlfcn.h>
#include <netdb.h>
#include <stdatomic.h>

#define NAME "server.test"

static atomic_uint lookups;	/* of NAME */

/* Takes the place of the system's: finds the name once. */
int
getaddrinfo(const char *host, const char *port, const struct addrinfo *hint, struct addrinfo **all)
{
	int (*system)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

	*(void **)&system = dlsym(RTLD_NEXT, "getaddrinfo");
	if (strcmp(host, NAME) != 0)
		return system(host, port, hint, all);
	return lookups++ == 0 ? system("127.0.0.1", port, hint, all) : EAI_AGAIN;
}

struct twice {
	struct conn	*conn;
	int		 fd;		/* the listening socket */
	bool		 greeted, again;	/* the worker has its welcome, and it has connected again */
};

static void
greet_once(void *arg, const struct msg *m)
{
	static const char why[] = "the second connection";
	struct twice *h = arg;

	if (m->type == MSG_PULL)
		h->greeted = true;
	else if (m->type == MSG_HELLO)
		conn_send(h->conn, !h->again ? &(struct msg){ .type = MSG_WELCOME, .flags = MSG_EMPTY | MSG_KEPT } :
		    &(struct msg){ .type = MSG_REFUSE, .len = sizeof(why) - 1, .payload = why });
}

static bool
has_greeted(void *arg)
{
	const struct twice *h = arg;

	return h->greeted && !h->again;
}

/* A server whose first connection ends after the welcome.  On the second one it refuses the worker. */
static void *
serve_twice(void *arg)
{
	struct twice *h = arg;

	for (int i = 0; i < 2 && (h->conn = one_worker_accept(h->fd)) != NULL; i++) {
		h->again = i > 0;
		one_worker_serve(h->conn, greet_once, has_greeted, h);
		conn_close(h->conn);
	}
	return NULL;
}

int
main(void)
{
	struct twice h = { .fd = -1 };
	struct one_worker job = { .host = NAME };

	is(one_worker_begin(&job, serve_twice, &h, &h.fd), ERR_PEER, "the server ends the connection");
	ok(strstr(err_line(), "the second connection") != NULL, "the worker has connected again: %s", err_line());
	is(lookups, 1, "the name was looked up once");
	shutdown(h.fd, SHUT_RDWR);
	one_worker_end(&job);
	close(h.fd);
	return done();
}
