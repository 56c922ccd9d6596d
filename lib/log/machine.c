/* machine - the machines in logs: processes, hardware, load and traffic. */
#include "log/machine.h"

#include "base/err.h"
#include "base/grow.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* Copies p[0..n) without blanks at its ends, truncated to size. */
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

/* The value of " key=" in a head, or "". */
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

/* Adds a row of load or traffic to its machine. */
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

/* name | hardware | software, in this order. */
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
machine_add_line(struct machine_list *l, const char *line)
{
	struct machine m = { .processes = 0 };
	const char *end;

	if (strncmp(line, "# tally ", 8) == 0)
		return parse_head(l, line);
	if (*line == '|') {
		if (l->in_table)
			return parse_table_row(l, line);
		l->in_table = strncasecmp(line, "| name | hardware", 17) == 0;
		return 0;
	}
	l->in_table = false;
	ERR_TRY(add_load_row(l, line));
	if (strncmp(line, "* **Infra", 9) == 0 && (end = strstr(line + 4, "**:")) != NULL) {
		copy_trimmed(m.name, sizeof(m.name), line + 4, (size_t)(end - line - 4));
		for (char *p; (p = strstr(m.name, "\\*")) != NULL;)	/* a star escaped in Markdown */
			memmove(p, p + 1, strlen(p));
		end += 3;
		copy_trimmed(m.hardware, sizeof(m.hardware), end, strcspn(end, "\r\n"));
		return add_machine(l, &m);
	}
	return 0;
}

/* The mean of n values, or an empty cell. */
static void
put_mean(struct table *t, double sum, uint64_t n)
{
	if (n > 0)
		table_number(t, sum / (double)n);
	else
		table_text(t, NULL);
}

static void
put_empty(struct table *t, size_t n)
{
	while (n-- > 0)
		table_text(t, NULL);
}

/* The optional columns of a table. */
struct columns {
	bool	 loads, devices, traffic;
};

static void
put_device(const struct machine *m, const struct machine_device *d, struct columns has, struct table *t)
{
	table_text(t, m->name);
	table_text(t, NULL);
	table_text(t, m->tool);
	put_empty(t, has.loads ? 2 : 0);
	table_count(t, d->rank, "");
	table_text(t, d->name);
	put_mean(t, d->load, d->loads);
	put_mean(t, d->bytes, d->bytes > 0);
	put_empty(t, has.traffic ? 4 : 2);
}

static void
put_machine(const struct machine *m, struct columns has, struct table *t)
{
	bool moved = m->rx_bytes + m->tx_bytes > 0;

	table_text(t, m->name);
	table_count(t, m->processes > 0 ? m->processes : UINT64_MAX, "");
	table_text(t, m->tool);
	if (has.loads) {
		put_mean(t, m->cpu * m->processes, m->loads);
		put_mean(t, m->host_load, m->host_loads);
	}
	put_empty(t, has.devices ? 4 : 0);
	if (has.traffic) {
		put_mean(t, m->rx_bytes, moved);
		put_mean(t, m->tx_bytes, moved);
	}
	table_text(t, m->hardware);
	table_text(t, m->software);
}

static void
add_machine_columns(struct columns has, struct table *t)
{
	table_column(t, (struct table_column){ "machine", "machine", false, 0, 0, NULL });
	table_column(t, (struct table_column){ "processes", "processes", true, 0, 6, NULL });
	table_column(t, (struct table_column){ "of", "tool", false, 0, 1, NULL });
	if (has.loads) {
		table_column(t, (struct table_column){ "processors busy", "cpu", true, 2, 2, "busy CPUs" });
		table_column(t, (struct table_column){ "load", "host_load", true, 2, 3, NULL });
	}
	if (has.devices) {
		table_column(t, (struct table_column){ "rank", "rank", true, 0, 1, NULL });
		table_column(t, (struct table_column){ "device", "device", false, 0, 1, NULL });
		table_column(t, (struct table_column){ "device load", "device_load", true, 2, 1, NULL });
		table_column(t, (struct table_column){ "device memory", "device_bytes", true, TABLE_BYTES, 2,
		    "memory" });
	}
	if (has.traffic) {
		table_column(t, (struct table_column){ "rx", "rx_bytes", true, TABLE_BYTES, 5, NULL });
		table_column(t, (struct table_column){ "tx", "tx_bytes", true, TABLE_BYTES, 5, NULL });
	}
	table_column(t, (struct table_column){ "hardware", "hardware", false, 0, 4, NULL });
	table_column(t, (struct table_column){ "software", "software", false, 0, 7, NULL });
}

void
machine_table(const struct machine_list *l, struct table *t)
{
	struct columns has = { .devices = l->devices > 0 };

	if (l->n == 0)
		return;
	for (size_t i = 0; i < l->n; i++) {
		has.loads |= l->machine[i].loads > 0;
		has.traffic |= l->machine[i].rx_bytes + l->machine[i].tx_bytes > 0;
	}
	add_machine_columns(has, t);
	for (size_t i = 0; i < l->n; i++) {
		put_machine(&l->machine[i], has, t);
		for (size_t k = 0; k < l->devices; k++)
			if (l->device[k].machine == i)
				put_device(&l->machine[i], &l->device[k], has, t);
	}
}

void
machine_free(struct machine_list *l)
{
	free(l->machine);
	free(l->device);
	*l = (struct machine_list){ 0 };
}
