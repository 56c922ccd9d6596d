/* rate - traffic over time, from the rows of netstat-logging(1). */
#include "log/rate.h"

#include "base/err.h"
#include "base/grow.h"
#include "log/tsv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The series of a name to which a time can be appended, or NULL.  A log that starts again has a series of its own. */
static struct rate_series *
find_series(struct rate_list *l, const char *name, double time_s)
{
	for (size_t i = l->n; i-- > 0;)
		if (strcmp(l->series[i].name, name) == 0)
			return l->series[i].point[l->series[i].n - 1].time_s <= time_s ? &l->series[i] : NULL;
	return NULL;
}

int
rate_add_line(struct rate_list *l, const char *line)
{
	char host[TSV_HOST], interface[TSV_HOST], name[LOGLINE_LABEL];
	double time_s, seconds, rx, tx;
	struct rate_series *s;
	struct rate_point *p;

	if (strstr(line, "Z\t") == NULL || strstr(line, "\tperiod\t") == NULL ||
	    sscanf(line, "%lf\t%*[0-9T:.Z-]\t%255[^\t]\t%255[^\t]\tperiod\t%lf\t%lf\t%lf", &time_s, host, interface,
	    &seconds, &rx, &tx) != 6 || !isfinite(time_s) || !(seconds > 0))
		return 0;
	rx *= 8e-6 / seconds;
	tx *= 8e-6 / seconds;
	if (!isfinite(rx + tx))
		return 0;
	snprintf(name, sizeof(name), "%.60s %.34s", host, interface);
	if ((s = find_series(l, name, time_s)) == NULL) {
		if ((s = grow_by_one(l->series, l->n, &l->cap, sizeof(*s))) == NULL)
			return ERR_NOMEM;
		l->series = s;
		s += l->n;
		*s = (struct rate_series){ .n = 0 };
		memcpy(s->name, name, sizeof(name));
	}
	if ((p = grow_by_one(s->point, s->n, &s->cap, sizeof(*p))) == NULL)
		return ERR_NOMEM;
	s->point = p;
	p[s->n++] = (struct rate_point){ time_s, rx, tx };
	l->n += s->n == 1;
	return 1;
}

void
rate_free(struct rate_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->series[i].point);
	free(l->series);
	*l = (struct rate_list){ .n = 0 };
}
