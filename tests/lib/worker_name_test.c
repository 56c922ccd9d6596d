/* worker_name_test - a worker returns to a server that it has reached although the server's name is found no more. */
#include "fc_net.h"
#include "tap.h"

#include "base/err.h"
#include "ps/worker/worker.h"
#include "wire/addr.h"
#include "wire/conn.h"

#include <dlfcn.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NAME "server.test"

static const uint8_t key[CONN_KEY] = { 9 };
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

/* A server whose first connection ends after the welcome.  On the second one it refuses the worker. */
static void *
serve_twice(void *fd)
{
	static const char why[] = "the second connection";

	for (int i = 0; i < 2; i++) {
		struct pollfd p = { .fd = *(int *)fd, .events = POLLIN };
		bool greeted = false;
		struct conn *c;
		struct msg m;

		poll(&p, 1, 60000);
		if (conn_take(accept4(p.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), key, CONN_WORKER, &c) < 0)
			return NULL;
		while (!(greeted && i == 0) && conn_run(c) == 0) {
			if (conn_next(c, &m) == 0) {
				p = (struct pollfd){ .fd = conn_fd(c), .events = conn_events(c) };
				poll(&p, 1, -1);
			} else if (m.type == MSG_PULL) {
				greeted = true;
			} else if (m.type == MSG_HELLO) {
				conn_send(c, i == 0 ? &(struct msg){ .type = MSG_WELCOME, .flags = MSG_EMPTY | MSG_KEPT } :
				    &(struct msg){ .type = MSG_REFUSE, .len = sizeof(why) - 1, .payload = why });
			}
		}
		conn_close(c);
	}
	return NULL;
}

int
main(void)
{
	char where[ADDR_TEXT], name[ADDR_TEXT], *servers[] = { name };
	struct graph *g = fc_net();
	float w[64] = { 0 }, aux[1];
	struct worker_opt o = { .graph = g, .nworkers = 1, .server = servers, .nservers = 1, .key = key, .w = w,
	    .aux = aux };
	struct worker *wk;
	pthread_t thread;
	uint64_t step = 0;
	int fd;

	is(addr_listen("127.0.0.1:0", &fd, where), 0, "a server listens");
	snprintf(name, sizeof(name), "%s%s", NAME, strrchr(where, ':'));
	pthread_create(&thread, NULL, serve_twice, &fd);
	is(worker_open(&o, &wk), 0, "a worker finds a server by its name");
	is(worker_begin(wk, NULL, &step), ERR_PEER, "the server ends the connection");
	ok(strstr(err_line(), "the second connection") != NULL, "the worker has connected again: %s", err_line());
	is(lookups, 1, "the name was looked up once");
	worker_close(wk);
	shutdown(fd, SHUT_RDWR);
	pthread_join(thread, NULL);
	close(fd);
	graph_free(g);
	return done();
}
