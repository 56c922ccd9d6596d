/* hosts_order - the hosts of a job that goes on without some of them: serves hosts. */
#include "run/launcher/hosts.h"

#include "base/err.h"

#include <stdlib.h>

/* An order of hosts, and what it would mean. */
struct host_order {
	const struct hosts *of;
	uint32_t	 servers, workers;
	const uint32_t	*had;		/* [of->n] the lowest rank of a worker that a host had; UINT32_MAX: none */
	uint32_t	*order, n;	/* [n] indices of the hosts */
	struct host	*host;		/* [n] the hosts in this order, for hosts_place() */
	bool		*has;		/* [of->n] a host has a worker */
};

/* Sets has[], and returns how many hosts that had a worker have one again. */
static uint32_t
place_workers(struct host_order *p)
{
	struct hosts h = { .host = p->host, .n = p->n };
	uint32_t again = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		p->host[i] = p->of->host[p->order[i]];
		h.places += p->host[i].slots;
		p->has[p->order[i]] = false;
	}
	for (uint32_t w = 0; w < p->workers && w < h.places; w++) {
		bool *has = &p->has[p->order[hosts_place(&h, p->servers + w)]];

		again += !*has && p->had[has - p->has] != UINT32_MAX;
		*has = true;
	}
	return again;
}

/* Exchanges the host at position `at`, which has lost its worker, with one that had none, if it gets one so. */
static void
exchange_host(struct host_order *p, uint32_t at)
{
	const uint32_t host = p->order[at], before = place_workers(p);

	for (uint32_t i = 0; i < p->n; i++) {
		const uint32_t other = p->order[i];

		if (!p->has[other] || p->had[other] != UINT32_MAX)
			continue;
		p->order[i] = host;
		p->order[at] = other;
		if (place_workers(p) > before && p->has[host])
			return;
		p->order[i] = other;
		p->order[at] = host;
		place_workers(p);
	}
}

/* Spares take the places of lost hosts, so that all others keep their processes.  Without enough spares places move. */
static void
fill_places(struct host_order *p, const bool *gone, uint32_t used)
{
	uint32_t spare = used;

	p->n = 0;
	for (uint32_t k = 0; k < used; k++) {
		while (gone[k] && spare < p->of->n && gone[spare])
			spare++;
		if (!gone[k])
			p->order[p->n++] = k;
		else if (spare < p->of->n)
			p->order[p->n++] = spare++;
	}
	for (; spare < p->of->n; spare++)
		if (!gone[spare])
			p->order[p->n++] = spare;
}

static void
order_hosts(struct host_order *p, const bool *gone, uint32_t used, uint32_t *had)
{
	for (uint32_t k = 0; k < p->of->n; k++)
		had[k] = UINT32_MAX;
	for (uint32_t w = p->workers; w-- > 0;)
		had[hosts_place(p->of, p->servers + w)] = w;
	fill_places(p, gone, used);
	place_workers(p);
	for (uint32_t w = 0; w < p->workers; w++) {
		const uint32_t host = hosts_place(p->of, p->servers + w);

		for (uint32_t i = 0; i < p->n && had[host] == w && !p->has[host]; i++)
			if (p->order[i] == host) {
				exchange_host(p, i);
				break;
			}
	}
}

/* Appends the lines of the hosts in the order. */
static int
put_host_lines(const struct host_order *p, const char *text, size_t n, struct buf *to)
{
	const char *end = text + n, **line = calloc(p->of->n, sizeof(*line)), *next;
	uint32_t k = 0;
	int e = line != NULL ? 0 : err_nomem();

	for (uint32_t i = 1; e == 0 && k < p->of->n; i++, text = next) {
		next = memchr(text, '\n', (size_t)(end - text));
		next = next != NULL ? next + 1 : end;
		if (p->of->host[k].line == i)
			line[k++] = text;
	}
	for (uint32_t i = 0; i < p->n && e == 0; i++) {
		const char *from = line[p->order[i]], *stop = memchr(from, '\n', (size_t)(end - from));

		if ((e = buf_put(to, from, (size_t)((stop != NULL ? stop : end) - from))) == 0)
			e = buf_put(to, "\n", 1);
	}
	free(line);
	return e;
}

int
hosts_without(const struct hosts *h, const struct hosts_loss *loss, const void *text, size_t n, struct buf *to)
{
	uint32_t *had = calloc(h->n, sizeof(*had));
	struct host_order p = { .of = h, .servers = loss->servers, .workers = loss->workers, .had = had,
	    .order = calloc(h->n, sizeof(*p.order)), .host = calloc(h->n, sizeof(*p.host)),
	    .has = calloc(h->n, sizeof(*p.has)) };
	int e;

	if (had == NULL || p.order == NULL || p.host == NULL || p.has == NULL) {
		e = err_nomem();
	} else {
		order_hosts(&p, loss->gone, loss->used, had);
		e = put_host_lines(&p, text, n, to);
	}
	free(had);
	free(p.order);
	free(p.host);
	free(p.has);
	return e;
}
