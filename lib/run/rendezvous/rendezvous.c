/* rendezvous - how processes that only know a scheduler's address find each other (dmlc's trackers). */
#include "run/rendezvous/rendezvous.h"

#include "base/clk.h"
#include "base/err.h"
#include "base/num.h"
#include "ps/hello.h"
#include "wire/conn.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define RETRY_MS 100	/* time between attempts to reach the scheduler */
#define SHAKE_S	 10.0	/* limit for the peer to prove that it has the key */

struct rendezvous {
	struct conn	*conn;
	uint32_t	 rank;
};

static int
read_env_number(const char *name, uint32_t most, uint32_t *v)
{
	const char *text = getenv(name);
	uint64_t u;
	int e;

	if (text == NULL)
		return err_fail(ERR_ARG, "%s is not set", name);
	if ((e = num_u64(text, 0, most, &u)) < 0) {
		err_within("%s", name);
		return ERR_ARG;
	}
	*v = (uint32_t)u;
	return 0;
}

static int
read_env_role(enum rendezvous_role *role)
{
	static const char *const names[] = { "scheduler", "server", "worker" };
	const char *text = getenv("DMLC_ROLE");

	*role = RENDEZVOUS_NONE;
	if (text == NULL || *text == 0)
		return 0;
	for (int i = 0; i < 3; i++)
		if (strcmp(text, names[i]) == 0)
			*role = RENDEZVOUS_SCHEDULER + (unsigned)i;
	return *role != RENDEZVOUS_NONE ? 0 : err_fail(ERR_ARG, "DMLC_ROLE: '%.32s' is not a role", text);
}

int
rendezvous_env(struct rendezvous_env *env)
{
	const char *uri = getenv("DMLC_PS_ROOT_URI"), *own;
	uint32_t port;
	int e;

	*env = (struct rendezvous_env){ .rank = RENDEZVOUS_ANY, .host = getenv("DMLC_NODE_HOST") };
	if ((e = read_env_role(&env->role)) < 0 || env->role == RENDEZVOUS_NONE)
		return e;
	ERR_TRY(read_env_number("DMLC_NUM_WORKER", HELLO_WORKERS, &env->workers));
	ERR_TRY(read_env_number("DMLC_NUM_SERVER", HELLO_WORKERS, &env->servers));
	ERR_TRY(read_env_number("DMLC_PS_ROOT_PORT", 65535, &port));
	if (uri == NULL || snprintf(env->at, sizeof(env->at),
	    strchr(uri, ':') != NULL && *uri != '[' ? "[%s]:%u" : "%s:%u", uri, port) >= (int)sizeof(env->at))
		return err_fail(ERR_ARG, "DMLC_PS_ROOT_URI is not set, or not an address");
	if (env->workers == 0 || env->servers == 0)
		return err_fail(ERR_ARG, "DMLC_NUM_WORKER and DMLC_NUM_SERVER must be 1 or more");
	own = env->role == RENDEZVOUS_SERVER ? "DMLC_SERVER_ID" : "DMLC_WORKER_ID";
	if (getenv(own) == NULL)
		own = "DMLC_TASK_ID";
	if (env->role == RENDEZVOUS_SCHEDULER || getenv(own) == NULL)
		return 0;
	return read_env_number(own, (env->role == RENDEZVOUS_SERVER ? env->servers : env->workers) - 1, &env->rank);
}

/* Checks an address.  A comma is refused, as it would make two addresses of a list. */
static bool
is_server_addr(const char *text)
{
	char host[ADDR_TEXT], port[8];

	for (const char *p = text; *p != 0; p++)
		if (!isgraph((unsigned char)*p) || *p == ',')
			return false;
	return addr_split(text, host, port) == 0;
}

int
rendezvous_parse(const void *p, size_t n, struct rendezvous_message *w)
{
	char text[RENDEZVOUS_TEXT + ADDR_TEXT], role[8], rank[8], tail;
	uint64_t u;

	*w = (struct rendezvous_message){ .rank = RENDEZVOUS_ANY };
	if (n >= sizeof(text))
		return err_fail(ERR_FORMAT, "a message of %zu bytes", n);
	if (n > 0)
		memcpy(text, p, n);
	text[n] = 0;
	if (sscanf(text, "at %279s%c", w->at, &tail) == 1)
		return is_server_addr(w->at) ? 0 : err_fail(ERR_FORMAT, "a malformed address");
	w->join = true;
	if (sscanf(text, "meet 1 tally %15s role %7s rank %7s workers %6" SCNu32 " servers %6" SCNu32 "%c", w->tally,
	    role, rank, &w->workers, &w->servers, &tail) != 5)
		return err_fail(ERR_FORMAT, "a message of another protocol");
	if (strcmp(role, "server") == 0 || strcmp(role, "worker") == 0)
		w->role = *role == 's' ? RENDEZVOUS_SERVER : RENDEZVOUS_WORKER;
	if (w->role == RENDEZVOUS_NONE || (strcmp(rank, "any") != 0 && num_u64(rank, 0, HELLO_WORKERS, &u) < 0))
		return err_fail(ERR_FORMAT, "an unknown role or rank");
	if (strcmp(rank, "any") != 0)
		w->rank = (uint32_t)u;
	return 0;
}

/* Reads and writes until a message is received (1), or, if m is NULL, until all is sent (0). */
static int
exchange_messages(struct conn *c, struct msg *m)
{
	for (;;) {
		struct pollfd fd = { .fd = conn_fd(c), .events = conn_events(c) };

		if (poll(&fd, 1, RETRY_MS) < 0 && errno != EINTR)
			return err_sys("poll");
		ERR_TRY(conn_run(c));
		if (!conn_open(c) && conn_age_s(c) > SHAKE_S)
			return err_fail(ERR_PEER, "no answer");
		if (m != NULL && conn_next(c, m) > 0)
			return 1;
		if (m == NULL && conn_open(c) && conn_queued(c) == 0)
			return 0;
	}
}

/* Sends a text in a MSG_HELLO, and waits until it is sent. */
static int
send_hello_text(struct rendezvous *m, const char *text)
{
	struct msg hello = { .type = MSG_HELLO, .payload = text, .len = (uint32_t)strlen(text) };
	int e = conn_send(m->conn, &hello);

	return e == 0 ? exchange_messages(m->conn, NULL) : e;
}

/* Waits for a MSG_WELCOME whose text begins with `word`.  Returns the rest, which the caller frees. */
static int
wait_welcome(struct rendezvous *m, const char *word, char **rest)
{
	size_t n = strlen(word);
	char reason[ERR_LINE];
	struct msg got;

	ERR_TRY(exchange_messages(m->conn, &got));
	if (got.type == MSG_REFUSE) {
		msg_reason(&got, reason);
		return err_fail(ERR_ARG, "the scheduler refuses: %s", reason);
	}
	if (got.type != MSG_WELCOME || got.len <= n || memcmp(got.payload, word, n) != 0)
		return err_fail(ERR_FORMAT, "the scheduler speaks another protocol");
	*rest = strndup((const char *)got.payload + n, got.len - n);
	return *rest != NULL ? 0 : err_nomem();
}

/* Joins the scheduler in one attempt, and sets env->rank. */
static int
try_join(struct rendezvous_env *env, const uint8_t *key, struct rendezvous *m)
{
	char text[RENDEZVOUS_TEXT], digits[16] = "any", *rest = NULL;
	uint64_t rank;
	int e = 0;

	if (env->rank != RENDEZVOUS_ANY)
		snprintf(digits, sizeof(digits), "%" PRIu32, env->rank);
	snprintf(text, sizeof(text), "meet 1 tally %s role %s rank %s workers %" PRIu32 " servers %" PRIu32,
	    TALLY_VERSION, env->role == RENDEZVOUS_SERVER ? "server" : "worker", digits, env->workers, env->servers);
	ERR_TRY(conn_dial(env->at, key, CONN_MEMBER, &m->conn));
	ERR_TRY(send_hello_text(m, text));
	ERR_TRY(wait_welcome(m, "rank ", &rest));
	if (num_u64(rest, 0, (env->role == RENDEZVOUS_SERVER ? env->servers : env->workers) - 1, &rank) < 0)
		e = err_fail(ERR_FORMAT, "the scheduler sent no valid rank");
	else
		env->rank = (uint32_t)rank;
	free(rest);
	return e;
}

int
rendezvous_join(struct rendezvous_env *env, const uint8_t *key, struct rendezvous **out)
{
	double until = clk_s() + RENDEZVOUS_PATIENCE_S;
	struct rendezvous *m = calloc(1, sizeof(*m));
	int e;

	*out = NULL;
	if (m == NULL)
		return err_nomem();
	while (((e = try_join(env, key, m)) == ERR_PEER || e == ERR_SYS) && clk_s() < until) {
		conn_close(m->conn);
		m->conn = NULL;
		poll(NULL, 0, RETRY_MS);
	}
	if (e == 0) {
		*out = m;
		return 0;
	}
	rendezvous_leave(m);
	err_within("scheduler %s", env->at);
	return e;
}

void
rendezvous_leave(struct rendezvous *m)
{
	if (m == NULL)
		return;
	conn_close(m->conn);
	free(m);
}

int
rendezvous_host(const struct rendezvous *m, const struct rendezvous_env *env, char host[ADDR_TEXT])
{
	struct sockaddr_storage a;
	socklen_t n = sizeof(a);
	char digits[NI_MAXHOST];

	if (env->host != NULL && *env->host != 0) {
		snprintf(host, ADDR_TEXT, strchr(env->host, ':') != NULL && *env->host != '[' ? "[%s]" : "%s",
		    env->host);
		return 0;
	}
	if (getsockname(conn_fd(m->conn), (struct sockaddr *)&a, &n) < 0 ||
	    getnameinfo((struct sockaddr *)&a, n, digits, sizeof(digits), NULL, 0, NI_NUMERICHOST) != 0)
		return err_sys("the address of this host");
	snprintf(host, ADDR_TEXT, a.ss_family == AF_INET6 ? "[%.250s]" : "%.250s", digits);
	return 0;
}

int
rendezvous_announce(struct rendezvous *m, const char *where)
{
	char text[ADDR_TEXT + 4];

	snprintf(text, sizeof(text), "at %s", where);
	return send_hello_text(m, text);
}

int
rendezvous_servers(struct rendezvous *m, char **list)
{
	return wait_welcome(m, "servers ", list);
}
