/* nic - byte and packet counters of this host's network interfaces. */
#include "watch/nic.h"

#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>

#define REJECT	0x200	/* flag of a route that refuses packets: RTF_REJECT of linux/ipv6_route.h */

/* "  eth0: 1234 12 0 0 0 0 0 0 5678 34 ...": bytes and packets received, six further counters, and the same sent. */
static int
parse_counters(const char *p, struct traffic *t)
{
	*t = (struct traffic){ .wire = { TRAFFIC_NONE, TRAFFIC_NONE } };
	return sscanf(p, "%" SCNu64 " %" SCNu64 " %*u %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64, &t->bytes[TRAFFIC_RX],
	    &t->packets[TRAFFIC_RX], &t->bytes[TRAFFIC_TX], &t->packets[TRAFFIC_TX]) == 4 ? 1 :
	    err_fail(ERR_FORMAT, "/proc/net/dev: not four counters");
}

int
nic_read(const char *name, struct nic_link *l)
{
	size_t n = strlen(name);
	char line[512], *p;
	int found = 0;
	FILE *f;

	if (n == 0 || n >= NIC_NAME || (l->index = if_nametoindex(name)) == 0)
		return 0;
	if ((f = fopen("/proc/net/dev", "re")) == NULL)
		return err_sys("/proc/net/dev");
	while (found == 0 && fgets(line, sizeof(line), f) != NULL) {
		p = line + strspn(line, " ");
		if (strncmp(p, name, n) == 0 && p[n] == ':')
			found = parse_counters(p + n + 1, &l->traffic);
	}
	fclose(f);
	return found;
}

int
nic_names(struct buf *out)
{
	struct if_nameindex *all = if_nameindex();
	int e = 0;

	if (all == NULL)
		return err_sys("the interfaces");
	for (const struct if_nameindex *i = all; i->if_index != 0 && e == 0; i++)
		e = buf_put_fmt(out, "%s%s", i > all ? ", " : "", i->if_name);
	if_freenameindex(all);
	return e;
}

/* Finds the default route with the lowest metric in a table of the kernel. */
static int
find_default_route(const char *path, bool v6, char name[NIC_NAME])
{
	unsigned metric, flags, least = UINT32_MAX;
	char line[512], to[NIC_NAME];
	FILE *f = fopen(path, "re");
	int found = 0, end;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		end = 0;
		if (v6)
			sscanf(line, "%*32[0] 00 %*s %*s %*s %x %*s %*s %x %15s%n", &metric, &flags, to, &end);
		else
			sscanf(line, "%15s 00000000 %*s %x %*s %*s %u 00000000%n", to, &flags, &metric, &end);
		if (end > 0 && (flags & REJECT) == 0 && (found == 0 || metric < least)) {
			memcpy(name, to, NIC_NAME);
			least = metric;
			found = 1;
		}
	}
	if (f != NULL)
		fclose(f);
	return found;
}

int
nic_default(char name[NIC_NAME])
{
	return find_default_route("/proc/net/route", false, name) ||
	    find_default_route("/proc/net/ipv6_route", true, name);
}
