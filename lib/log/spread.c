/* spread - how many gradients of each worker were how many updates behind, from the rows of log/tsv.h. */
#include "log/spread.h"

#include "base/err.h"
#include "base/grow.h"
#include "log/tsv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The worker of a log, which is added if it is new; NULL without memory. */
static struct spread_worker *
find_spread(struct spread_list *l, const char *log, uint64_t rank)
{
	struct spread_worker *w;

	for (size_t i = l->n; i-- > 0;)
		if (l->worker[i].rank == rank && strncmp(l->worker[i].log, log, LOGLINE_LABEL - 1) == 0)
			return &l->worker[i];
	if ((w = grow_by_one(l->worker, l->n, &l->cap, sizeof(*w))) == NULL)
		return NULL;
	l->worker = w;
	w += l->n++;
	*w = (struct spread_worker){ .rank = rank };
	snprintf(w->log, sizeof(w->log), "%s", log);
	return w;
}

static int
add_bin(struct spread_worker *w, uint64_t from, uint64_t to, double gradients)
{
	struct spread_bin *p;
	size_t i = 0;

	while (i < w->n && w->bin[i].from < from)
		i++;
	if (i < w->n && w->bin[i].from == from) {
		w->bin[i].gradients += gradients;
		return 0;
	}
	if ((p = grow_by_one(w->bin, w->n, &w->cap, sizeof(*p))) == NULL)
		return ERR_NOMEM;
	w->bin = p;
	memmove(p + i + 1, p + i, (w->n++ - i) * sizeof(*p));
	p[i] = (struct spread_bin){ from, to, gradients };
	return 0;
}

int
spread_add_line(struct spread_list *l, const char *log, const char *line)
{
	struct spread_worker *w;
	struct tsv_row r;

	if (strstr(line, "\tstaleness\t") == NULL || tsv_parse(line, &r) <= 0 || r.event != TSV_STALENESS ||
	    strcmp(r.class, "bin") != 0 || r.rank == TSV_NONE || r.updates == TSV_NONE || r.updates == 0 ||
	    r.staleness_min == TSV_NONE || r.staleness_max == TSV_NONE || r.staleness_max < r.staleness_min)
		return 0;
	if ((w = find_spread(l, log, r.rank)) == NULL)
		return ERR_NOMEM;
	return add_bin(w, r.staleness_min, r.staleness_max, (double)r.updates) < 0 ? ERR_NOMEM : 1;
}

void
spread_free(struct spread_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->worker[i].bin);
	free(l->worker);
	*l = (struct spread_list){ .n = 0 };
}
