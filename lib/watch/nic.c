/* nic - the counters of this machine's network interfaces. */
#include "watch/nic.h"

#include "base/err.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER	65536	/* bytes; the kernel sends at most 32 KiB at once */

struct nic {
	int	 fd;
	uint32_t seq;
	_Alignas(struct nlmsghdr) char answer[ANSWER];
};

/* What is done with each message of an answer: 0, or an ERR_* that ends it. */
typedef int each(void *ctx, const struct nlmsghdr *h);

struct request {
	struct nlmsghdr	 head;
	union {
		struct ifinfomsg link;
		struct rtmsg	 route;
	};
	struct rtattr	 attr;
	char		 name[NIC_NAME];
};

int
nic_open(struct nic **n)
{
	struct nic *new = malloc(sizeof(*new));

	if (new == NULL)
		return err_nomem();
	new->seq = 0;
	if ((new->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)) < 0) {
		free(new);
		return err_sys("netlink");
	}
	*n = new;
	return 0;
}

void
nic_close(struct nic *n)
{
	if (n == NULL)
		return;
	close(n->fd);
	free(n);
}

/* The messages of one datagram.  1 when the answer goes on, 0 at its end. */
static int
parse_datagram(struct nic *n, size_t len, each *f, void *ctx)
{
	const struct nlmsghdr *h = (const void *)n->answer;
	int e;

	for (; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
		if (h->nlmsg_seq != n->seq)
			continue;	/* of a request that was given up */
		if (h->nlmsg_type == NLMSG_DONE)
			return 0;
		if (h->nlmsg_type == NLMSG_ERROR) {
			const struct nlmsgerr *err = NLMSG_DATA(h);

			if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*err)))
				return err_fail(ERR_FORMAT, "netlink: a short message");
			errno = -err->error;
			return errno == 0 ? 0 : err_sys("netlink");
		}
		if ((e = f(ctx, h)) < 0)
			return e;
		if (!(h->nlmsg_flags & NLM_F_MULTI))
			return 0;
	}
	return 1;
}

static int
send_netlink_request(struct nic *n, struct request *r, each *f, void *ctx)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	ssize_t got;
	int e;

	r->head.nlmsg_seq = ++n->seq;
	if (sendto(n->fd, r, r->head.nlmsg_len, 0, (struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		return err_sys("netlink");
	do {
		while ((got = recv(n->fd, n->answer, sizeof(n->answer), 0)) < 0 && errno == EINTR)
			;
		if (got < 0)
			return err_sys("netlink");
	} while ((e = parse_datagram(n, (size_t)got, f, ctx)) > 0);
	return e;
}

/* Counters that lie anywhere in memory. */
static void
take_stats(const char *p, struct traffic *t)
{
	struct rtnl_link_stats64 s;

	memcpy(&s, p, offsetof(struct rtnl_link_stats64, rx_errors));
	*t = (struct traffic){
		.bytes = { s.rx_bytes, s.tx_bytes },
		.packets = { s.rx_packets, s.tx_packets },
		.wire = { TRAFFIC_NONE, TRAFFIC_NONE },
	};
}

int
nic_parse(const void *msg, size_t n, struct nic_link *l)
{
	const size_t head = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct ifinfomsg));
	const char *p = (const char *)msg + head;
	struct ifinfomsg info;
	struct rtattr a;
	bool counted = false;

	if (n < head)
		return err_fail(ERR_FORMAT, "netlink: a short message");
	memcpy(&info, (const char *)msg + NLMSG_HDRLEN, sizeof(info));
	*l = (struct nic_link){ .index = info.ifi_index };
	for (n -= head; n >= sizeof(a); n -= RTA_ALIGN(a.rta_len), p += RTA_ALIGN(a.rta_len)) {
		memcpy(&a, p, sizeof(a));
		if (a.rta_len < sizeof(a) || a.rta_len > n)
			return err_fail(ERR_FORMAT, "netlink: an attribute of %u bytes", a.rta_len);
		if (a.rta_type == IFLA_IFNAME && a.rta_len > sizeof(a) && a.rta_len <= sizeof(a) + NIC_NAME)
			memcpy(l->name, p + sizeof(a), a.rta_len - sizeof(a) - 1);
		if (a.rta_type == IFLA_STATS64 && a.rta_len >= sizeof(a) +
		    offsetof(struct rtnl_link_stats64, rx_errors)) {
			take_stats(p + sizeof(a), &l->traffic);
			counted = true;
		}
		if (RTA_ALIGN(a.rta_len) > n)
			break;	/* the last one may lack its padding */
	}
	return counted && l->name[0] != 0 ? 0 : err_fail(ERR_FORMAT, "netlink: a link without name or counters");
}

static int
take_link(void *ctx, const struct nlmsghdr *h)
{
	return h->nlmsg_type == RTM_NEWLINK ? nic_parse(h, h->nlmsg_len, ctx) : 0;
}

int
nic_read(struct nic *n, const char *name, struct nic_link *l)
{
	struct request r = {
		.head = { .nlmsg_len = sizeof(r), .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST },
		.attr = { .rta_len = sizeof(r.attr) + NIC_NAME, .rta_type = IFLA_IFNAME },
	};
	int e;

	_Static_assert(NIC_NAME == IFNAMSIZ && offsetof(struct request, name) + NIC_NAME == sizeof(r),
	    "as netlink packs it");
	if (name[0] == 0 || strlen(name) >= NIC_NAME)
		return 0;
	memcpy(r.name, name, strlen(name));
	l->index = 0;
	e = send_netlink_request(n, &r, take_link, l);
	if (e == ERR_SYS && errno == ENODEV)
		return 0;
	return e < 0 ? e : l->index != 0;
}

struct name_list {
	struct buf *out;
	const char *between;
};

static int
take_name(void *ctx, const struct nlmsghdr *h)
{
	struct name_list *l = ctx;
	struct nic_link link;
	int e;

	if (h->nlmsg_type != RTM_NEWLINK)
		return 0;
	if ((e = nic_parse(h, h->nlmsg_len, &link)) == 0) {
		e = buf_put_fmt(l->out, "%s%s", l->between, link.name);
		l->between = ", ";
	}
	return e;
}

int
nic_names(struct nic *n, struct buf *out)
{
	struct request r = {
		.head = { .nlmsg_len = NLMSG_LENGTH(sizeof(r.link)), .nlmsg_type = RTM_GETLINK,
		    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
	};

	return send_netlink_request(n, &r, take_name, &(struct name_list){ out, "" });
}

struct way_out {
	int	 index;
	uint32_t metric;
};

/* A route of the main table to everywhere, by one interface or by the first of several. */
static int
take_route(void *ctx, const struct nlmsghdr *h)
{
	const struct rtmsg *m = NLMSG_DATA(h);
	struct way_out *best = ctx, w = { 0, 0 };
	size_t n;

	if (h->nlmsg_type != RTM_NEWROUTE || h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)) || m->rtm_dst_len != 0 ||
	    m->rtm_table != RT_TABLE_MAIN || m->rtm_type != RTN_UNICAST)
		return 0;
	n = h->nlmsg_len - NLMSG_LENGTH(sizeof(*m));
	for (const struct rtattr *a = RTM_RTA(m); RTA_OK(a, n); a = RTA_NEXT(a, n)) {
		if (a->rta_type == RTA_OIF && RTA_PAYLOAD(a) >= sizeof(w.index))
			memcpy(&w.index, RTA_DATA(a), sizeof(w.index));
		if (a->rta_type == RTA_PRIORITY && RTA_PAYLOAD(a) >= sizeof(w.metric))
			memcpy(&w.metric, RTA_DATA(a), sizeof(w.metric));
		if (a->rta_type == RTA_MULTIPATH && RTA_PAYLOAD(a) >= sizeof(struct rtnexthop))
			w.index = ((const struct rtnexthop *)RTA_DATA(a))->rtnh_ifindex;
	}
	if (w.index != 0 && (best->index == 0 || w.metric < best->metric))
		*best = w;
	return 0;
}

int
nic_default(struct nic *n, char name[NIC_NAME])
{
	static const unsigned char families[] = { AF_INET, AF_INET6 };
	struct way_out w = { 0, 0 };
	int e;

	for (size_t i = 0; i < sizeof(families) && w.index == 0; i++) {
		struct request r = {
			.head = { .nlmsg_len = NLMSG_LENGTH(sizeof(r.route)), .nlmsg_type = RTM_GETROUTE,
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
			.route = { .rtm_family = families[i] },
		};

		if ((e = send_netlink_request(n, &r, take_route, &w)) < 0)
			return e;
	}
	return w.index != 0 && if_indextoname((unsigned)w.index, name) != NULL;
}
