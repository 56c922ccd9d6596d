/* nic_test - the loopback's counters: they are there, and grow by what is sent. */
#include "watch/nic.h"
#include "tap.h"

#include "base/err.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#define TIMES	100
#define SIZE	1000

static void
send_some(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	int to = socket(AF_INET, SOCK_DGRAM, 0), from = socket(AF_INET, SOCK_DGRAM, 0);
	char bytes[SIZE] = { 0 };

	if (bind(to, (struct sockaddr *)&a, n) == 0 && getsockname(to, (struct sockaddr *)&a, &n) == 0)
		for (int i = 0; i < TIMES; i++)
			if (sendto(from, bytes, SIZE, 0, (struct sockaddr *)&a, n) < 0)
				break;
	close(to);
	close(from);
}

int
main(void)
{
	struct nic_link before, after;
	struct buf names = { 0 };
	char name[NIC_NAME] = "";
	struct nic *n;
	struct traffic t;
	int e;

	ok(nic_open(&n) == 0, "netlink");
	is(nic_read(n, "lo", &before), 1, "lo is there");
	is_str(before.name, "lo", "... under its name");
	send_some();
	is(nic_read(n, "lo", &after), 1, "... and again");
	is(after.index, before.index, "... the same one");
	t = traffic_since(&before.traffic, &after.traffic);
	ok(t.bytes[TRAFFIC_TX] >= TIMES * (SIZE + 28) && t.packets[TRAFFIC_TX] >= TIMES, "what was sent is counted");
	is(nic_read(n, "no-such-nic", &after), 0, "one that is not there");
	is(nic_read(n, "", &after), 0, "no name");
	is(nic_read(n, "a-name-longer-than-any", &after), 0, "a long name");
	is(nic_read(n, "lo", &after), 1, "and still lo");
	ok(nic_names(n, &names) == 0 && buf_terminate(&names) == 0 && strncmp((char *)names.p, "lo", 2) == 0, "names: %s",
	    (char *)names.p);
	e = nic_default(n, name);
	ok(e == 0 || (e == 1 && nic_read(n, name, &after) == 1), "the default route's interface, if any: %s", name);
	is(nic_parse("short", 5, &after), ERR_FORMAT, "a short message");
	nic_close(n);
	buf_free(&names);
	return done();
}
