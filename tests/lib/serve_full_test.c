/* serve_full_test - one worker that reconnects many times in a turn of the server, among as many strangers as it takes. */
#include "tap.h"

#include "base/buf.h"
#include "base/err.h"
#include "ps/hello.h"
#include "ps/server/serve.h"
#include "wire/addr.h"
#include "wire/conn.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define IDLE	60
#define AGAIN	60

static struct {
	struct serve_opt  opt;
	struct serve_sums sums;
	char		  where[ADDR_TEXT];
	int		  told[2], held[2], err;
	unsigned	  reconnects;
} server;

static void
listening(void *arg, const char *where)
{
	(void)arg;
	snprintf(server.where, sizeof(server.where), "%s", where);
	(void)!write(server.told[1], "!", 1);
}

/* Holds the server at the first reconnection, until all others wait to be accepted. */
static void
say(void *arg, const char *line)
{
	char one;

	(void)arg;
	if (strstr(line, "reconnected") == NULL || server.reconnects++ > 0)
		return;
	(void)!write(server.told[1], "!", 1);
	(void)!read(server.held[0], &one, 1);
}

static void *
serve(void *arg)
{
	server.err = serve_run(&server.opt, &server.sums);
	return arg;
}

static struct graph *
net(void)
{
	struct graph *g = graph_new(1, 2, 3);
	uint32_t at = 0;

	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "a", .in = &at, .nin = 1, .k = 5 }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_SOFTMAX, .name = "loss", .in = &at, .nin = 1 }, &at);
	return g;
}

/* Connects, and says hello without waiting for the answer. */
static int
dial(const struct buf *hello)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
	    .sin_port = htons((uint16_t)atoi(strrchr(server.where, ':') + 1)) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, "127.0.0.1", &a.sin_addr);
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    (hello != NULL && write(fd, hello->p, hello->n) != (ssize_t)hello->n))
		printf("Bail out! cannot connect\n"), exit(1);
	return fd;
}

/* The bytes of a worker's hello without a key. */
static void
write_hello(const struct graph *g, struct buf *all)
{
	struct hello h = { .version = MSG_VERSION, .tally = TALLY_VERSION, .nworkers = 1, .nservers = 1, .slice = 32,
	    .hash = graph_hash(g) };
	struct msg m = { .type = MSG_HELLO, .incarnation = 7 };
	uint8_t head[MSG_HEAD];
	struct buf text = { 0 };

	hello_text(&h, g, &text);
	m.len = (uint32_t)text.n;
	msg_head(&m, head);
	buf_put_fmt(all, "tally/%u plain\n", MSG_VERSION);
	buf_put(all, head, sizeof(head));
	buf_put(all, text.p, text.n);
	buf_free(&text);
}

/* Whether these words arrive before the connection ends. */
static bool
reads_until(int fd, const char *words)
{
	size_t n = 0;
	char c;

	while (n < strlen(words) && read(fd, &c, 1) == 1)
		n = c == words[n] ? n + 1 : c == words[0];
	return n == strlen(words);
}

int
main(void)
{
	static int fd[2 + IDLE + AGAIN];
	struct graph *g = net();
	struct buf hello = { 0 };
	pthread_t thread;
	uint8_t answer[16];
	char one;
	int n = 0;

	(void)!pipe(server.told);
	(void)!pipe(server.held);
	server.opt = (struct serve_opt){ .listen = "127.0.0.1:0", .nworkers = 1, .nservers = 1, .transport = CONN_TCP,
	    .stop_fd = eventfd(0, EFD_CLOEXEC), .listening = listening, .say = say, .say_lost = say };
	pthread_create(&thread, NULL, serve, NULL);
	(void)!read(server.told[0], &one, 1);
	write_hello(g, &hello);
	fd[n++] = dial(&hello);
	(void)!read(fd[0], answer, sizeof(answer));
	fd[n++] = dial(&hello);
	(void)!read(server.told[0], &one, 1);
	for (int i = 0; i < IDLE; i++)
		fd[n++] = dial(NULL);
	for (int i = 0; i < AGAIN; i++)
		fd[n++] = dial(&hello);
	(void)!write(server.held[1], "!", 1);
	ok(read(fd[n - 1], answer, sizeof(answer)) > 0, "the server answers the last of %d connections", n);
	(void)!write(server.opt.stop_fd, &(uint64_t){ 1 }, sizeof(uint64_t));
	ok(reads_until(fd[n - 1], "stopped on request"), "the server tells the worker why it stops");
	while (n > 0)
		close(fd[--n]);
	pthread_join(thread, NULL);
	is(server.err, ERR_STOP, "the server stops on request: %s", err_line());
	is(server.reconnects, AGAIN + 1, "the server reports each reconnection");
	buf_free(&hello);
	graph_free(g);
	return done();
}
