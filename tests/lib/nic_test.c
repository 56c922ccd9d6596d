/* nic_test - the counters of the loopback interface grow by what is sent. */
#include "watch/nic.h"
#include "tap.h"


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
	struct traffic t;
	int e;

	is(nic_read("lo", &before), 1, "lo exists");
	send_some();
	is(nic_read("lo", &after), 1, "lo is read again");
	is(after.index, before.index, "the index of lo is the same");
	t = traffic_since(&before.traffic, &after.traffic);
	ok(t.bytes[TRAFFIC_TX] >= TIMES * (SIZE + 28) && t.packets[TRAFFIC_TX] >= TIMES, "the datagrams sent are counted");
	is(nic_read("no-such-nic", &after), 0, "an interface that does not exist is not found");
	is(nic_read("", &after), 0, "an empty name is not found");
	is(nic_read("a-name-longer-than-any", &after), 0, "a name above IFNAMSIZ is not found");
	is(nic_read("lo", &after), 1, "lo is found after these");
	ok(nic_names(&names) == 0 && buf_terminate(&names) == 0 && strncmp((char *)names.p, "lo", 2) == 0, "the names begin with lo: %s",
	    (char *)names.p);
	e = nic_default(name);
	ok(e == 0 || (e == 1 && nic_read(name, &after) == 1), "the interface of the default route, if any, exists: %s", name);
	is(nic_read("l", &after), 0, "the start of a name is not found");
	buf_free(&names);
	return done();
}
