/* conn_silence - when the host of a peer is lost: serves conn. */
#include "wire/conn_in.h"
#include "base/clk.h"
#include "base/num.h"

#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>

#define VARIABLE	"TALLY_SILENCE"
#define LEAST_S		1.0
#define MOST_S		1e6
#define LOOK_S		0.4		/* least time between two looks */
#define UNANSWERED_MS	1000		/* a silence that is worth a word */
#define ANSWER_S	2.0		/* time for the answer to a last attempt */
#define RTO_MAX_MS	44		/* TCP_RTO_MAX_MS of Linux 6.15; earlier systems refuse it */
/* Parts of the silence: questions on an idle connection, and the longest time between attempts of the system. */
#define ASKS		10
#define REPEATS		4
#define ASKS_MOST	20		/* unanswered questions that end a connection at which nobody looks */
/* The most that the system takes; of more it would keep its default, and end such a connection after two hours. */
#define KEEP_MOST_S	32767.0
#define RTO_MOST_S	120.0

int
conn_silence(double *s)
{
	const char *text = getenv(VARIABLE);
	int e;

	*s = CONN_SILENCE_S;
	if (text == NULL || *text == 0)
		return 0;
	if ((e = num_f64(text, LEAST_S, MOST_S, s)) < 0)
		err_within(VARIABLE);
	return e;
}

void
conn_set_silence(struct conn *c, double s)
{
	const int asks = (int)ceil(fmin(s / ASKS, KEEP_MOST_S));
	const int most = (int)fmax(ASKS_MOST, ceil(2 * s / asks));
	const int repeats = (int)(fmin(fmax(s / REPEATS, LEAST_S), RTO_MOST_S) * 1e3);
	const struct { int level, name, value; } option[] = {
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, asks },
		{ IPPROTO_TCP, TCP_KEEPINTVL, asks },
		{ IPPROTO_TCP, TCP_KEEPCNT, most },
		{ IPPROTO_TCP, RTO_MAX_MS, repeats },
	};

	c->silence = s;
	for (size_t i = 0; i < sizeof(option) / sizeof(option[0]); i++)
		setsockopt(c->fd, option[i].level, option[i].name, &option[i].value, sizeof(int));
}

/*
 * The system repeats what is not acknowledged, and asks whether an idle peer, or one that does not read, is there.
 * The host of a process that is stopped answers; that is why TCP_USER_TIMEOUT is of no use, which also ends connections
 * that only wait for a peer to read.  The time between two attempts grows.  So a silence counts only up to the last
 * attempt, or an outage that is just over would be taken for a longer one.
 */
int
conn_silence_look(struct conn *c)
{
	const double now = clk_s(), most = c->open ? c->silence : LEAST_S;
	struct tcp_info t;
	socklen_t n = sizeof(t);
	unsigned attempts;
	double heard;

	if (now < c->look_at || getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &t, &n) < 0 || n < sizeof(t) ||
	    t.tcpi_state == TCP_SYN_SENT)
		return 0;
	c->look_at = now + LOOK_S;
	attempts = t.tcpi_retransmits + t.tcpi_probes;	/* none of them answered */
	c->carries = t.tcpi_unacked > 0 && t.tcpi_last_ack_recv <= UNANSWERED_MS;
	c->unanswered = attempts > 0 && t.tcpi_last_ack_recv > UNANSWERED_MS;
	heard = now - t.tcpi_last_ack_recv * 1e-3;
	if (attempts == 0 || c->attempts == 0 || heard > c->silent_since) {
		c->silent_since = c->tried = now;
		c->attempts = attempts;
	} else if (attempts != c->attempts && c->tried - c->silent_since <= most) {
		c->tried = now;
		c->attempts = attempts;
	}
	if (c->tried - c->silent_since <= most || now - c->tried < ANSWER_S)
		return 0;
	return err_fail(ERR_PEER, "its host or the network has not answered for %.0f s", now - heard);
}

bool
conn_unanswered(const struct conn *c)
{
	return c->unanswered;
}

bool
conn_carries(const struct conn *c)
{
	return c->carries;
}
