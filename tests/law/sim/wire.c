/* wire - the connections between simulated hosts. */
#include "law/sim/wire_in.h"
#include "law/sim/sys.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define CAP_LEAST	256u	/* bytes that a stream holds, times a power of two */
#define CAP_POWERS	9u
#define SYN_NS		SIM_S	/* until the first attempt to connect is repeated */
#define IDLE_NS		(7200 * SIM_S)
#define RTO_MAX_NS	(120 * SIM_S)
#define RTO_MAX_MS	44	/* an option of Linux 6.15, as in wire/conn_silence.c */
#define LATE_NS		(100 * SIM_MS)	/* most delay of the few segments that are late */
#define LATE		64u	/* one of so many */

uint64_t
wire_draw(uint64_t n)
{
	return rng_below(sim_chance(), n);
}

void
wire_begin(void)
{
	memset(wires.host, 0, wires.hosts * sizeof(*wires.host));
	memset(wires.way, 0, (size_t)wires.hosts * wires.hosts * sizeof(*wires.way));
	for (unsigned i = 0; i < wires.n; i++)
		wires.all[i].used = false;
	wires.ndue = 0;
	wires.speed = (struct wire_speed){ .bits_s = 0 };
	wires.latency = UINT64_C(2000) << wire_draw(9);
	wires.port = 30000;
}

void
wire_end(void)
{
	for (unsigned i = 0; i < wires.n; i++)
		for (unsigned side = 0; side < 2; side++) {
			struct stream *s = &wires.all[i].end[side].in;

			__real_free(s->p);
			s->p = NULL;
			s->room = 0;
		}
}

uint64_t
wire_arrival(void)
{
	if (wires.speed.bits_s > 0)
		return sim_now() + wires.speed.latency;
	return sim_now() + 1000 + wire_draw(2 * wires.latency) + (wire_draw(LATE) == 0 ? wire_draw(LATE_NS) : 0);
}

static void
init_stream(struct stream *s)
{
	const size_t cap = CAP_LEAST << (wires.speed.bits_s > 0 ? CAP_POWERS - 1 : wire_draw(CAP_POWERS));

	if (cap > s->room) {
		__real_free(s->p);
		if ((s->p = __real_malloc(cap)) == NULL)
			abort();
		s->room = cap;
	}
	*s = (struct stream){ .p = s->p, .room = s->room, .cap = cap };
}

static bool
is_down(const struct wire *w, unsigned from)
{
	return sim_now() < wire_way(w->end[from].host, w->end[!from].host)->down;
}

/* The connection has something to do at a time, or when it has recovered from a cut. */
static uint64_t
put_off(const struct wire *w)
{
	return w->recovers_at > sim_now() ? w->recovers_at : sim_now() + SIM_MS;
}

void
wire_fail(struct wire *w, unsigned side, int err, uint64_t at)
{
	struct end *e = &w->end[side];

	if (e->err == 0 && (e->err_next == 0 || at < e->err_at)) {
		e->err_next = err;
		e->err_at = at;
		wire_due_add(w, at);
	}
}

void
wire_lose(struct stream *s)
{
	unsigned keep = (unsigned)wire_draw(s->nseg + 1);

	while (s->nseg > keep)
		s->n -= s->seg[--s->nseg].n;
	s->lost = true;
}

void
wire_listen(uint32_t host)
{
	wires.host[host].listens = true;
}

void
wire_unlisten(uint32_t host)
{
	wires.host[host].listens = false;
	sim_changed(host);
	for (unsigned i = 0; i < wires.n; i++) {
		struct wire *w = &wires.all[i];

		if (w->used && w->open && w->end[1].host == host && !w->accepted && !w->end[1].closed) {
			w->end[1].closed = true;
			wires.host[host].waiting--;
			if (w->end[0].closed)
				w->used = false;
			else
				wire_fail(w, 0, ECONNRESET, wire_arrival());
		}
	}
}

/* An attempt to connect arrives, or does not. */
static void
try_to_open(struct wire *w)
{
	const uint32_t from = w->end[0].host, to = w->end[1].host;

	if (w->syns-- == 0) {
		wire_fail(w, 0, ETIMEDOUT, sim_now());
		w->open_at = SIM_NEVER;
	} else if (is_down(w, 0) || is_down(w, 1)) {
		if (wire_way(from, to)->refuses)
			wire_fail(w, 0, EHOSTUNREACH, sim_now());
		w->open_at = sim_now() + w->syn;
		w->syn *= 2;
	} else if (!wires.host[to].listens) {
		wire_fail(w, 0, ECONNREFUSED, sim_now());
		w->open_at = SIM_NEVER;
	} else {
		w->open = true;
		wires.host[to].waiting++;
		sim_log("host %u is connected to host %u", from, to);
	}
}

static void
deliver_stream(struct wire *w, unsigned side)
{
	struct end *e = &w->end[side], *sender = &w->end[!side];
	struct stream *s = &e->in;
	unsigned n = 0;

	while (n < s->nseg && s->seg[n].at <= sim_now()) {
		if (is_down(w, !side)) {
			s->seg[n].at = put_off(w);
			break;
		}
		s->ready += s->seg[n].n;
		if (is_down(w, side)) {
			sender->held += s->seg[n].n;
			sender->held_until = put_off(w);
		}
		n++;
	}
	if (n > 0)
		memmove(s->seg, s->seg + n, (s->nseg -= n) * sizeof(s->seg[0]));
	if (s->nseg == 0 && s->fin && !s->over && s->fin_at <= sim_now()) {
		if (is_down(w, !side))
			s->fin_at = put_off(w);
		else
			s->over = true;
	}
	if (e->err == 0 && e->err_next != 0 && e->err_at <= sim_now()) {
		/* What an attempt to connect reports is no message of the peer. */
		if (w->open && is_down(w, !side)) {
			e->err_at = put_off(w);
			return;
		}
		e->err = e->err_next;
		s->n = s->ready;
		s->nseg = 0;
	}
}

/* The next time at which something happens at an end. */
static uint64_t
find_due(const struct wire *w, unsigned side)
{
	const struct end *e = &w->end[side];
	uint64_t at = SIM_NEVER;

	if (e->in.nseg > 0)
		at = e->in.seg[0].at;
	else if (e->in.fin && !e->in.over)
		at = e->in.fin_at;
	if (e->err == 0 && e->err_next != 0 && e->err_at < at)
		at = e->err_at;
	if (e->held > 0 && e->held_until < at)
		at = e->held_until;
	return at;
}

static void
deliver(struct wire *w)
{
	if (!w->open && w->open_at <= sim_now())
		try_to_open(w);
	for (unsigned side = 0; side < 2; side++) {
		deliver_stream(w, side);
		if (w->end[side].held > 0 && w->end[side].held_until <= sim_now())
			w->end[side].held = 0;
		sim_changed(w->end[side].host);
	}
	wire_due_add(w, find_due(w, 0));
	wire_due_add(w, find_due(w, 1));
	if (!w->open)
		wire_due_add(w, w->open_at);
}

void
wire_deliver(void)
{
	struct wire *w;

	while ((w = wire_due_take()) != NULL)
		deliver(w);
}

static size_t
count_room(const struct wire *w, unsigned side)
{
	const struct stream *s = &w->end[!side].in;
	size_t full = s->n + w->end[side].held;

	return w->open && s->nseg < SEGMENTS && full < s->cap ? s->cap - full : 0;
}

short
wire_ready(const struct wire *w, unsigned side, short events)
{
	const struct end *e = &w->end[side];
	short r = 0;

	if (e->err != 0)
		r = POLLERR | POLLHUP | POLLIN | POLLOUT;
	if (e->in.ready > 0 || e->in.over)
		r |= POLLIN;
	if (w->open && (e->shut || w->end[!side].closed || count_room(w, side) > 0))
		r |= POLLOUT;
	if (e->in.over && e->shut)
		r |= POLLHUP;
	return r & (events | POLLERR | POLLHUP);
}

struct wire *
wire_waiting(uint32_t host)
{
	for (unsigned i = 0; i < wires.n && wires.host[host].waiting > 0; i++) {
		struct wire *w = &wires.all[i];

		if (w->used && w->open && w->end[1].host == host && !w->accepted && !w->end[1].closed)
			return w;
	}
	return NULL;
}

static void
init_end(struct end *e, uint32_t host)
{
	struct stream in = e->in;

	init_stream(&in);
	*e = (struct end){ .host = host, .in = in, .idle = IDLE_NS, .rto_max = RTO_MAX_NS };
}

struct wire *
wire_connect(uint32_t from, const struct sockaddr_in *addr, unsigned syns)
{
	const uint32_t to = ntohs(addr->sin_port) - WIRE_PORT;
	struct wire *w = wires.all;

	while (w < wires.all + wires.n && w->used)
		w++;
	assert(w < wires.all + wires.n && to < wires.hosts);
	init_end(&w->end[0], from);
	init_end(&w->end[1], to);
	w->used = true;
	w->open = w->accepted = false;
	w->open_at = wire_arrival();
	w->syn = SYN_NS;
	w->syns = 1 + syns;
	w->stalled_at = w->recovers_at = 0;
	w->port = wires.port++;
	w->due = SIM_NEVER;
	wire_due_add(w, w->open_at);
	return w;
}

void
wire_accept(struct wire *w)
{
	w->accepted = true;
	wires.host[w->end[1].host].waiting--;
}

int
wire_peer(const struct wire *w, unsigned side, struct sockaddr_in *peer)
{
	if (!w->open)
		return -ENOTCONN;
	*peer = (struct sockaddr_in){ .sin_family = AF_INET,
	    .sin_port = htons(side == 0 ? (uint16_t)(WIRE_PORT + w->end[1].host) : w->port),
	    .sin_addr.s_addr = htonl(0x0a000000u + wires.host[w->end[!side].host].machine) };
	return 0;
}

int
wire_receive(struct wire *w, unsigned side, void *p, size_t n)
{
	const struct end *e = &w->end[side];
	struct stream *s = &w->end[side].in;

	if (s->ready == 0)
		return e->err != 0 ? -e->err : s->over || e->shut ? 0 : -EAGAIN;
	n = n < s->ready ? n : s->ready;
	if (wire_draw(8) == 0)
		n = 1 + wire_draw(n);
	for (size_t done = 0, k; done < n; done += k) {
		k = s->cap - s->head < n - done ? s->cap - s->head : n - done;
		memcpy((uint8_t *)p + done, s->p + s->head, k);
		s->head = (s->head + k) % s->cap;
	}
	s->n -= n;
	s->ready -= n;
	sim_spend((uint64_t)((double)n * wires.speed.byte_ns));
	sim_changed(w->end[!side].host);
	return (int)n;
}

static void
put_bytes(struct stream *s, const uint8_t *p, size_t n)
{
	for (size_t done = 0, k; done < n; done += k) {
		size_t at = (s->head + s->n) % s->cap;

		k = s->cap - at < n - done ? s->cap - at : n - done;
		memcpy(s->p + at, p + done, k);
		s->n += k;
	}
}

int
wire_send(struct wire *w, unsigned side, const struct iovec *v, size_t n)
{
	struct stream *s;
	size_t all = 0, put = 0;
	uint64_t at;

	if (w->end[side].shut)
		return -EPIPE;
	if (w->end[side].err != 0)
		return -w->end[side].err;
	if (!w->open)
		return -EAGAIN;
	for (size_t i = 0; i < n; i++)
		all += v[i].iov_len;
	if (w->end[!side].closed) {
		wire_fail(w, side, ECONNRESET, wire_arrival());
		return (int)all;
	}
	if (all == 0)
		return 0;
	if (w->end[!side].in.lost)
		return (int)all;
	put = count_room(w, side) < all ? count_room(w, side) : all;
	if (put == 0)
		return -EAGAIN;
	if (wire_draw(8) == 0)
		put = 1 + wire_draw(put);
	s = &w->end[!side].in;
	for (size_t i = 0, left = put; left > 0; i++) {
		size_t k = v[i].iov_len < left ? v[i].iov_len : left;

		put_bytes(s, v[i].iov_base, k);
		left -= k;
	}
	sim_spend((uint64_t)((double)put * wires.speed.byte_ns));
	at = wires.speed.bits_s > 0 ? wire_pass(w->end[side].host, w->end[!side].host, put) : wire_arrival();
	if (s->nseg > 0 && s->seg[s->nseg - 1].at > at)
		at = s->seg[s->nseg - 1].at;
	s->seg[s->nseg].n = put;
	s->seg[s->nseg++].at = at;
	wire_due_add(w, s->seg[0].at);
	return (int)put;
}

static void
send_end(struct wire *w, unsigned side)
{
	struct stream *s = &w->end[!side].in;

	if (s->fin)
		return;
	s->fin = true;
	s->fin_at = s->nseg > 0 && s->seg[s->nseg - 1].at > sim_now() ? s->seg[s->nseg - 1].at : wire_arrival();
	wire_due_add(w, s->fin_at);
	sim_changed(w->end[side].host);
}

int
wire_shutdown(struct wire *w, unsigned side)
{
	if (!w->open || w->end[side].err != 0)
		return -ENOTCONN;
	w->end[side].shut = true;
	send_end(w, side);
	return 0;
}

/* If bytes are left that nobody reads, the peer finds the connection broken, and loses what has not arrived. */
void
wire_close(struct wire *w, unsigned side)
{
	struct end *e = &w->end[side];

	e->closed = true;
	sim_changed(w->end[!side].host);
	if (!w->open || w->end[!side].closed) {
		w->used = false;
	} else if (e->err == 0 && e->in.ready > 0) {
		wire_lose(&w->end[!side].in);
		wire_fail(w, !side, ECONNRESET, wire_arrival());
	} else if (e->err == 0) {
		send_end(w, side);
		if (e->in.nseg > 0)
			wire_fail(w, !side, ECONNRESET, w->end[!side].in.fin_at + wires.latency);
	}
}

void
wire_set_option(struct wire *w, unsigned side, int level, int option, int v)
{
	struct end *e = &w->end[side];

	if (level == IPPROTO_TCP && option == TCP_KEEPIDLE)
		e->idle = (uint64_t)v * SIM_S;
	if (level == IPPROTO_TCP && option == RTO_MAX_MS)
		e->rto_max = (uint64_t)v * SIM_MS;
}
