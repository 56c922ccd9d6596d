/* ucx - messages between two processes through the UCX library. */
#include "wire/path/ucx_in.h"

#include "base/err.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define PARTS	16u		/* most that are sent at a time */
#define SYNC	(1u << 20)	/* bytes after which the next part is synchronous */
#define SYNC_PART 1024u		/* most bytes of such a part */
#define PART_COST 8192u		/* bytes that a part counts as at least, for what the library keeps of it */
#define VECTORS	64		/* more than PARTS parts have, as a message is two pieces at most */
#define TURNS	64		/* most calls of progress at a time, so that no peer delays the others */

enum { OF_WORKER, OF_CALLER };

struct part {
	void	*request;	/* NULL: done */
	size_t	 n;
};

struct ucx {
	ucp_worker_h	 worker;
	ucp_ep_h	 ep;		/* NULL: not yet */
	ucp_address_t	*address;
	size_t		 address_n;
	int		 epoll, socket;	/* the socket is the caller's */
	bool		 at_once;	/* fd() is readable in any case */
	bool		 signalled;
	ucs_status_t	 failed;	/* the cause, if the endpoint failed */
	/* What is sent: the first `under_way` bytes of the queue. */
	struct part	 part[PARTS];	/* a ring */
	unsigned	 first, parts;
	size_t		 under_way;
	size_t		 unsynced;	/* sum of what the parts since the last synchronous one count as */
	void		*flush;		/* request that ends when the peer's side has them; NULL: none */
	bool		 unflushed;	/* bytes were sent since it was asked */
	/* What is received. */
	void		*request;	/* the one for a part that arrives; NULL: none */
	size_t		 arriving;	/* its length */
	bool		 direct;	/* it goes where the caller wants it, else to `own` */
	uint8_t		*own;		/* [UCX_PART] */
	size_t		 own_at, own_n;	/* bytes in it that the caller has had, and all */
	size_t		 allow;
	bool		 waits;		/* there was nothing to read, and nothing has moved since */
	uint64_t	 read, written;
};

static const ucp_request_param_t plain_param = { .op_attr_mask = 0 };

static void
note_failure(void *arg, ucp_ep_h ep, ucs_status_t s)
{
	struct ucx *u = arg;

	(void)ep;
	u->failed = s;
}

static int
watch_fd(struct ucx *u, int op, int fd, uint32_t events, uint32_t whose)
{
	struct epoll_event ev = { .events = events, .data.u32 = whose };

	return epoll_ctl(u->epoll, op, fd, &ev) == 0 ? 0 : err_sys("epoll_ctl");
}

static int
make_worker(struct ucx *u)
{
	const ucp_worker_params_t p = { .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
		.thread_mode = UCS_THREAD_MODE_SERIALIZED };
	ucs_status_t s;
	int fd;

	if ((s = ucx_library.worker_create(ucx_library.context, &p, &u->worker)) != UCS_OK)
		return ucx_fail(ERR_NOTSUP, "a worker", s);
	if ((s = ucx_library.worker_get_address(u->worker, &u->address, &u->address_n)) != UCS_OK)
		return ucx_fail(ERR_NOTSUP, "its address", s);
	if (u->address_n > UCX_ADDRESS)
		return err_fail(ERR_NOTSUP, "UCX: an address of %zu bytes: choose its devices with UCX_NET_DEVICES",
		    u->address_n);
	if ((s = ucx_library.worker_get_efd(u->worker, &fd)) != UCS_OK)
		return ucx_fail(ERR_NOTSUP, "events", s);
	return watch_fd(u, EPOLL_CTL_ADD, fd, EPOLLIN, OF_WORKER);
}

static void
get_address(const struct ucx *u, const void **p, size_t *n)
{
	*p = u->address;
	*n = u->address_n;
}

static int
connect_endpoint(struct ucx *u, const void *address, size_t n)
{
	/* The library may read beyond the end of a damaged address, which zeros stop. */
	uint8_t *copy = calloc(1, 2 * UCX_ADDRESS);
	ucp_ep_params_t p = { .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
		UCP_EP_PARAM_FIELD_ERR_HANDLER, .address = (const ucp_address_t *)copy,
		.err_mode = ucx_has_network() ? UCP_ERR_HANDLING_MODE_PEER : UCP_ERR_HANDLING_MODE_NONE,
		.err_handler = { note_failure, u } };
	ucs_status_t s;

	if (copy == NULL)
		return err_nomem();
	assert(n <= UCX_ADDRESS);
	memcpy(copy, address, n);
	s = ucx_library.ep_create(u->worker, &p, &u->ep);
	free(copy);
	if (s == UCS_OK)
		return 0;
	u->ep = NULL;
	return ucx_fail(ERR_PEER, "the peer cannot be reached", s);
}

static bool
has_endpoint(const struct ucx *u)
{
	return u->ep != NULL;
}

/* Frees a request, after its end if `wait`.  Returns whether it has ended. */
static bool
end_request(struct ucx *u, bool wait, void **request)
{
	ucs_status_t s = UCS_OK;

	if (UCS_PTR_IS_PTR(*request)) {
		while ((s = ucx_library.request_check_status(*request)) == UCS_INPROGRESS && wait)
			ucx_library.worker_progress(u->worker);
		ucx_library.request_free(*request);
	}
	*request = NULL;
	return s != UCS_INPROGRESS;
}

/*
 * The end of an endpoint ends what it sends, except without error handling (ucx_has_network()): then only the peer can.
 * A worker with what has not ended cannot be destroyed.  It stays until the process ends, and moves nothing more.
 */
static void
end_worker(struct ucx *u)
{
	const ucp_request_param_t force = { .op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE };
	void *closing = u->ep != NULL ? ucx_library.ep_close_nbx(u->ep, &force) : NULL;
	const bool ends = !UCS_PTR_IS_ERR(closing);
	bool over = end_request(u, ends, &closing);

	over &= end_request(u, ends, &u->flush);
	for (; u->parts > 0; u->parts--, u->first++)
		over &= end_request(u, ends, &u->part[u->first % PARTS].request);
	over &= end_request(u, false, &u->request);
	u->unflushed = false;
	u->under_way = 0;
	if (u->address != NULL)
		ucx_library.worker_release_address(u->worker, u->address);
	if (u->worker != NULL && over)
		ucx_library.worker_destroy(u->worker);
	u->address = NULL;
	u->worker = NULL;
	u->ep = NULL;
}

static void
close_worker(struct ucx *u)
{
	if (u == NULL)
		return;
	end_worker(u);
	if (u->epoll >= 0)
		close(u->epoll);
	free(u->own);
	free(u);
}

static int
open_worker(int fd, struct ucx **out)
{
	struct ucx *u;
	int e;

	ERR_TRY(ucx_load());
	if ((u = calloc(1, sizeof(*u))) == NULL)
		return err_nomem();
	u->socket = fd;
	if ((u->epoll = epoll_create1(EPOLL_CLOEXEC)) < 0)
		e = err_sys("epoll_create1");
	else if ((e = watch_fd(u, EPOLL_CTL_ADD, fd, EPOLLIN, OF_CALLER)) == 0)
		e = make_worker(u);
	if (e < 0)
		close_worker(u);
	else
		*out = u;
	return e;
}

static int
get_ucx_fd(const struct ucx *u)
{
	return u->epoll;
}

static void
take_events(struct ucx *u)
{
	struct epoll_event ev[2];
	int n = epoll_wait(u->epoll, ev, 2, 0);

	u->signalled = false;
	for (int i = 0; i < n; i++)
		u->signalled |= ev[i].data.u32 == OF_CALLER && (ev[i].events & ~(uint32_t)EPOLLOUT) != 0;
}

static bool
is_signalled(const struct ucx *u)
{
	return u->signalled;
}

/* Whatever moves here may be what another call waits for. */
static void
make_progress(struct ucx *u)
{
	for (unsigned i = 0; i < TURNS && ucx_library.worker_progress(u->worker) > 0; i++)
		u->waits = false;
}

static bool
is_done(void *request)
{
	return !UCS_PTR_IS_PTR(request) || ucx_library.request_check_status(request) != UCS_INPROGRESS;
}

/* Whether send_queued() or receive_bytes() would find what is done. */
static bool
has_news(const struct ucx *u)
{
	return (u->parts > 0 && is_done(u->part[u->first % PARTS].request)) ||
	    (u->flush != NULL && is_done(u->flush)) || (u->request != NULL && is_done(u->request)) ||
	    u->failed != UCS_OK;
}

static void
want_events(struct ucx *u, bool at_once)
{
	at_once = (at_once && !u->waits) || has_news(u) || ucx_library.worker_arm(u->worker) != UCS_OK;
	if (at_once != u->at_once &&
	    watch_fd(u, EPOLL_CTL_MOD, u->socket, at_once ? EPOLLIN | EPOLLOUT : EPOLLIN, OF_CALLER) == 0)
		u->at_once = at_once;
}

static void
allow_bytes(struct ucx *u, size_t bytes)
{
	u->allow = bytes;
}

/* Frees a request that is done.  Returns 0 or an error. */
static int
finish_request(const char *what, void **request)
{
	ucs_status_t s = *request == NULL ? UCS_OK : UCS_PTR_IS_ERR(*request) ? UCS_PTR_STATUS(*request) :
		ucx_library.request_check_status(*request);

	if (UCS_PTR_IS_PTR(*request))
		ucx_library.request_free(*request);
	*request = NULL;
	return s == UCS_OK ? 0 : ucx_fail(ERR_PEER, what, s);
}

/* Begins to receive the next part.  Sets *any to whether there is one. */
static int
begin_part(struct ucx *u, void *p, size_t n, bool stays, bool *any)
{
	ucp_tag_recv_info_t info;
	ucp_tag_message_h m = ucx_library.tag_probe_nb(u->worker, 0, 0, 1, &info);

	*any = m != NULL;
	if (m == NULL)
		return 0;
	if (info.length > UCX_PART)
		return err_fail(ERR_FORMAT, "sent a part of %zu bytes", info.length);
	u->direct = stays && info.length <= n;
	if (!u->direct && u->own == NULL && (u->own = malloc(UCX_PART)) == NULL)
		return err_nomem();
	u->arriving = info.length;
	u->request = ucx_library.tag_msg_recv_nbx(u->worker, u->direct ? p : u->own, info.length, m, &plain_param);
	return 0;
}

/* Bytes that have arrived in `own`. */
static void
give_own(struct ucx *u, void *p, size_t n, size_t *got)
{
	size_t rest = u->own_n - u->own_at;

	*got = n < rest ? n : rest;
	memcpy(p, u->own + u->own_at, *got);
	u->own_at += *got;
}

/* Takes what a part that has arrived holds. */
static int
end_part(struct ucx *u, void *p, size_t n, size_t *got)
{
	ERR_TRY(finish_request("receive", &u->request));
	if (u->direct) {
		*got = u->arriving;
	} else {
		u->own_at = 0;
		u->own_n = u->arriving;
		give_own(u, p, n, got);
	}
	return 0;
}

static int
receive_bytes(struct ucx *u, void *p, size_t n, bool stays, size_t *got)
{
	bool any = u->request != NULL;
	int e = 0;

	*got = 0;
	if (u->allow == 0)
		return 0;
	if (u->own_at < u->own_n) {
		give_own(u, p, n, got);
	} else {
		make_progress(u);
		if (!any)
			e = begin_part(u, p, n, stays, &any);
		if (e == 0 && any && is_done(u->request))
			e = end_part(u, p, n, got);
		u->waits = *got == 0;
		if (e == 0 && u->waits && u->failed != UCS_OK)
			e = ucx_fail(ERR_PEER, "receive", u->failed);
	}
	u->read += *got;
	u->allow -= *got < u->allow ? *got : u->allow;
	return e;
}

static bool
is_empty(const struct ucx *u)
{
	return u->waits;
}

/* Drops what has been sent from the queue, in order. */
static int
drop_sent(struct ucx *u, struct queue *q)
{
	while (u->parts > 0 && is_done(u->part[u->first % PARTS].request)) {
		struct part *t = &u->part[u->first % PARTS];

		ERR_TRY(finish_request("send", &t->request));
		queue_drop(q, t->n);
		u->under_way -= t->n;
		u->parts--;
		u->first++;
	}
	return 0;
}

/*
 * Begins to send a part of n bytes or less.  Most parts are done once the library has taken them; they may then lie
 * unread in the peer's memory.  After SYNC bytes one is synchronous: it is done when the peer has begun to receive it.
 * Parts are received in order, and the ring waits for its first: so a peer that reads nothing holds SYNC bytes and
 * PARTS + 1 parts at most.  A synchronous part is small, because UCX may abort if the peer is lost within one that it
 * sends in several fragments.
 */
static void
send_part(struct ucx *u, struct part *t, const void *p, size_t n)
{
	t->n = n;
	if (u->unsynced < SYNC) {
		u->unsynced += n > PART_COST ? n : PART_COST;
		t->request = ucx_library.tag_send_nbx(u->ep, p, n, 0, &plain_param);
		return;
	}
	u->unsynced = 0;
	t->n = n < SYNC_PART ? n : SYNC_PART;
	t->request = ucx_library.tag_send_sync_nbx(u->ep, p, t->n, 0, &plain_param);
}

/* Begins to send bytes that are together in memory. */
static int
send_piece(struct ucx *u, const uint8_t *p, size_t n)
{
	for (; n > 0 && u->parts < PARTS; u->parts++) {
		struct part *t = &u->part[(u->first + u->parts) % PARTS];

		send_part(u, t, p, n < UCX_PART ? n : UCX_PART);
		if (UCS_PTR_IS_ERR(t->request))
			return finish_request("send", &t->request);
		u->under_way += t->n;
		u->written += t->n;
		u->unflushed = true;
		p += t->n;
		n -= t->n;
	}
	return 0;
}

static int
send_more(struct ucx *u, const struct queue *q)
{
	struct iovec v[VECTORS];
	size_t before = u->under_way;
	int n = queue_vectors(q, v, VECTORS, SIZE_MAX);

	for (int i = 0; i < n && u->parts < PARTS; i++) {
		size_t skip = before < v[i].iov_len ? before : v[i].iov_len;

		before -= skip;
		ERR_TRY(send_piece(u, (const uint8_t *)v[i].iov_base + skip, v[i].iov_len - skip));
	}
	return 0;
}

/*
 * What the library has taken may still be on this side when its call has ended.  A peer that has all may go before it
 * has answered, so that a failure here is none.
 */
static void
flush_sent(struct ucx *u)
{
	if (u->flush != NULL && is_done(u->flush))
		finish_request("flush", &u->flush);
	if (u->flush != NULL || !u->unflushed)
		return;
	u->unflushed = false;
	u->flush = ucx_library.ep_flush_nbx(u->ep, &plain_param);
	if (UCS_PTR_IS_ERR(u->flush))
		u->flush = NULL;
}

static int
send_queued(struct ucx *u, struct queue *q)
{
	if (u->ep == NULL)
		return 0;
	make_progress(u);
	ERR_TRY(drop_sent(u, q));
	if (u->under_way < q->n && u->parts < PARTS) {
		ERR_TRY(send_more(u, q));
		ERR_TRY(drop_sent(u, q));
	}
	if (q->n == 0)
		flush_sent(u);
	return 0;
}

static bool
is_delivered(const struct ucx *u)
{
	return u->flush == NULL && !u->unflushed;
}

static void
get_byte_counts(const struct ucx *u, uint64_t *received, uint64_t *sent)
{
	*received = u->read;
	*sent = u->written;
}

const struct ucx_calls ucx_calls = {
	.load = ucx_load,
	.open = open_worker,
	.close = close_worker,
	.address = get_address,
	.connect = connect_endpoint,
	.connected = has_endpoint,
	.end = end_worker,
	.fd = get_ucx_fd,
	.look = take_events,
	.signalled = is_signalled,
	.want = want_events,
	.allow = allow_bytes,
	.read = receive_bytes,
	.empty = is_empty,
	.send = send_queued,
	.delivered = is_delivered,
	.byte_counts = get_byte_counts,
};
