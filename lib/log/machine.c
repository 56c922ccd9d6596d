/* machine - the machines that logs speak of, and their hardware. */
#include "log/machine.h"

#include "base/err.h"
#include "base/grow.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* Text p[0..n) without blanks at its ends, cut to what fits. */
static void
copy_trimmed(char *to, size_t size, const char *p, size_t n)
{
	while (n > 0 && isspace((unsigned char)*p)) {
		p++;
		n--;
	}
	while (n > 0 && isspace((unsigned char)p[n - 1]))
		n--;
	snprintf(to, size, "%.*s", (int)(n < size ? n : size - 1), p);
}

static int
add_machine(struct machine_list *l, const struct machine *m)
{
	struct machine *p;

	for (size_t i = 0; i < l->n; i++) {
		struct machine *k = &l->machine[i];

		if (strcmp(k->name, m->name) == 0 && strcmp(k->tool, m->tool) == 0 &&
		    strcmp(k->hardware, m->hardware) == 0) {
			k->processes += m->processes;
			return 0;
		}
	}
	if (l->n == MACHINE_MOST)
		return 0;
	if ((p = grow_by_one(l->machine, l->n, &l->cap, sizeof(*p))) == NULL)
		return ERR_NOMEM;
	l->machine = p;
	l->machine[l->n++] = *m;
	return 0;
}

/* The value of " key=" in a head; empty when it is not there. */
static void
get_head_value(const char *line, const char *key, char *to, size_t size)
{
	const char *p = strstr(line, key);

	to[0] = 0;
	if (p != NULL) {
		p += strlen(key);
		copy_trimmed(to, size, p, strcspn(p, " \r\n"));
	}
}

static int
parse_head(struct machine_list *l, const char *line)
{
	struct machine m = { .processes = 1 };
	char engine[64];

	get_head_value(line, " tool=", m.tool, sizeof(m.tool));
	get_head_value(line, " host=", m.name, sizeof(m.name));
	get_head_value(line, " device=", m.hardware, sizeof(m.hardware));
	get_head_value(line, " engine=", engine, sizeof(engine));
	l->started += strcmp(m.tool, "pworker") == 0;
	if (m.name[0] == 0)
		return 0;
	for (char *c = m.hardware; *c != 0; c++)
		if (*c == '_')
			*c = ' ';
	snprintf(m.software, sizeof(m.software), "tally %.*s%s%.60s", (int)strcspn(line + 8, " "), line + 8,
	    engine[0] != 0 ? ", engine " : "", engine);
	return add_machine(l, &m);
}

static int
add_device_load(struct machine_list *l, const struct machine *m, const struct tsv_row *r)
{
	size_t at = (size_t)(m - l->machine), i = 0;
	struct machine_device *d = l->device;

	while (i < l->devices && (d[i].machine != at || d[i].rank != r->rank || strcmp(d[i].name, r->device) != 0))
		i++;
	if (i == MACHINE_MOST)
		return 0;
	if ((d = grow_by_one(d, i, &l->devices_cap, sizeof(*d))) == NULL)
		return ERR_NOMEM;
	l->device = d;
	if (i == l->devices) {
		d[i] = (struct machine_device){ .machine = at, .rank = r->rank };
		snprintf(d[i].name, sizeof(d[i].name), "%s", r->device);
		l->devices++;
	}
	d[i].loads++;
	d[i].load += r->device_load;
	if (r->device_bytes != TSV_NONE && (double)r->device_bytes > d[i].bytes)
		d[i].bytes = (double)r->device_bytes;
	return 0;
}

/* How busy a machine was, and what its processes moved. */
static int
add_load_row(struct machine_list *l, const char *line)
{
	static const char *const tool[] = { [TSV_WORKER] = "pworker", [TSV_SERVER] = "pserver" };
	struct machine *m = NULL;
	struct tsv_row r;

	if ((strstr(line, "\tload\t") == NULL && strstr(line, "\twire") == NULL) || tsv_parse(line, &r) <= 0)
		return 0;
	for (size_t i = 0; i < l->n && m == NULL; i++)
		if (strcmp(l->machine[i].name, r.host) == 0 && strcmp(l->machine[i].tool, tool[r.role]) == 0)
			m = &l->machine[i];
	if (m == NULL)
		return 0;
	if (r.event == TSV_LOAD && r.device[0] != 0 && r.device_load >= 0 && r.epoch != TSV_NONE)
		return add_device_load(l, m, &r);
	if (r.event == TSV_LOAD && r.cpu >= 0 && r.epoch != TSV_NONE) {
		m->loads++;
		m->cpu += r.cpu;
		m->host_loads += r.host_load >= 0;
		m->host_load += r.host_load >= 0 ? r.host_load : 0;
	}
	if (r.event == TSV_TRAFFIC && strcmp(r.class, "wire") == 0 && r.rx_bytes != TSV_NONE &&
	    r.tx_bytes != TSV_NONE) {
		m->rx_bytes += (double)r.rx_bytes;
		m->tx_bytes += (double)r.tx_bytes;
	}
	return 0;
}

/* name | hardware | software, in this order, as people write them. */
static int
parse_table_row(struct machine_list *l, const char *line)
{
	struct machine m = { .processes = 0 };
	char *to[] = { m.name, m.hardware, m.software };
	const size_t size[] = { sizeof(m.name), sizeof(m.hardware), sizeof(m.software) };
	const char *p = line + 1;

	for (int i = 0; i < 3 && *p != 0; i++) {
		size_t n = strcspn(p, "|\r\n");

		copy_trimmed(to[i], size[i], p, n);
		p += n + (p[n] == '|');
	}
	return m.name[strspn(m.name, "-: ")] == 0 ? 0 : add_machine(l, &m);
}

int
machine_take(struct machine_list *l, const char *line)
{
	struct machine m = { .processes = 0 };
	const char *end;
	int e;

	if (strncmp(line, "# tally ", 8) == 0)
		return parse_head(l, line);
	if (*line == '|') {
		if (l->in_table)
			return parse_table_row(l, line);
		l->in_table = strncasecmp(line, "| name | hardware", 17) == 0;
		return 0;
	}
	l->in_table = false;
	if ((e = add_load_row(l, line)) < 0)
		return e;
	if (strncmp(line, "* **Infra", 9) == 0 && (end = strstr(line + 4, "**:")) != NULL) {
		copy_trimmed(m.name, sizeof(m.name), line + 4, (size_t)(end - line - 4));
		for (char *p; (p = strstr(m.name, "\\*")) != NULL;)	/* a star that Markdown shall leave alone */
			memmove(p, p + 1, strlen(p));
		end += 3;
		copy_trimmed(m.hardware, sizeof(m.hardware), end, strcspn(end, "\r\n"));
		return add_machine(l, &m);
	}
	return 0;
}

static int
put_loads(const struct machine *m, struct table *t)
{
	int e = m->loads == 0 ? table_cell(t, NULL, NULL) : table_number(t, m->cpu / (double)m->loads * m->processes,
	    2);

	if (e < 0)
		return e;
	return m->host_loads == 0 ? table_cell(t, NULL, NULL) :
	    table_number(t, m->host_load / (double)m->host_loads, 2);
}

static int
put_traffic(const struct machine *m, struct table *t)
{
	bool any = m->rx_bytes + m->tx_bytes > 0;
	int e = any ? table_number(t, m->rx_bytes, -1) : table_cell(t, NULL, NULL);

	if (e < 0)
		return e;
	return any ? table_number(t, m->tx_bytes, -1) : table_cell(t, NULL, NULL);
}

/* So many cells of nothing. */
static int
put_none(struct table *t, size_t n)
{
	int e = 0;

	while (n-- > 0 && e == 0)
		e = table_cell(t, NULL, NULL);
	return e;
}

/* What a table has, beside what it always has. */
struct columns {
	bool	 loads, devices, traffic;
};

static int
put_device(const struct machine *m, const struct machine_device *d, struct columns has, struct table *t)
{
	char rank[24];
	int e;

	snprintf(rank, sizeof(rank), "%llu", (unsigned long long)d->rank);
	e = table_cell(t, m->name, m->name);
	e = e < 0 ? e : put_none(t, 1);
	e = e < 0 ? e : table_cell(t, m->tool, m->tool);
	e = e < 0 ? e : put_none(t, has.loads ? 2 : 0);
	e = e < 0 ? e : table_cell(t, rank, rank);
	e = e < 0 ? e : table_cell(t, d->name, d->name);
	e = e < 0 ? e : table_number(t, d->load / (double)d->loads, 2);
	e = e < 0 ? e : d->bytes > 0 ? table_number(t, d->bytes, -1) : put_none(t, 1);
	return e < 0 ? e : put_none(t, has.traffic ? 4 : 2);
}

static int
put_machine(const struct machine *m, struct columns has, struct table *t)
{
	char n[16];
	int e;

	snprintf(n, sizeof(n), "%u", m->processes);
	e = table_cell(t, m->name, m->name);
	e = e < 0 ? e : table_cell(t, m->processes > 0 ? n : NULL, n);
	e = e < 0 ? e : table_cell(t, m->tool[0] != 0 ? m->tool : NULL, m->tool);
	if (e == 0 && has.loads)
		e = put_loads(m, t);
	if (e == 0 && has.devices)
		e = put_none(t, 4);
	if (e == 0 && has.traffic)
		e = put_traffic(m, t);
	e = e < 0 ? e : table_cell(t, m->hardware[0] != 0 ? m->hardware : NULL, m->hardware);
	return e < 0 ? e : table_cell(t, m->software[0] != 0 ? m->software : NULL, m->software);
}

int
machine_table(const struct machine_list *l, struct table *t)
{
	struct columns has = { .devices = l->devices > 0 };
	int e = 0;

	if (l->n == 0)
		return 0;
	for (size_t i = 0; i < l->n; i++) {
		has.loads |= l->machine[i].loads > 0;
		has.traffic |= l->machine[i].rx_bytes + l->machine[i].tx_bytes > 0;
	}
	table_column(t, "machine", "machine", false);
	table_column(t, "processes", "processes", true);
	table_column(t, "of", "tool", false);
	if (has.loads) {
		table_column(t, "processors busy", "cpu", true);
		table_column(t, "load", "host_load", true);
	}
	if (has.devices) {
		table_column(t, "rank", "rank", true);
		table_column(t, "device", "device", false);
		table_column(t, "device load", "device_load", true);
		table_column(t, "device memory", "device_bytes", true);
	}
	if (has.traffic) {
		table_column(t, "rx", "rx_bytes", true);
		table_column(t, "tx", "tx_bytes", true);
	}
	table_column(t, "hardware", "hardware", false);
	table_column(t, "software", "software", false);
	for (size_t i = 0; i < l->n && e == 0; i++) {
		e = put_machine(&l->machine[i], has, t);
		for (size_t k = 0; k < l->devices && e == 0; k++)
			if (l->device[k].machine == i)
				e = put_device(&l->machine[i], &l->device[k], has, t);
	}
	return e;
}

void
machine_free(struct machine_list *l)
{
	free(l->machine);
	free(l->device);
	*l = (struct machine_list){ 0 };
}
