/* hosts_test - tests hosts against its header. */
#include "tap.h"

#include "base/err.h"
#include "run/launcher/hosts.h"

#include <stdlib.h>

static int
parse(struct hosts *h, const char *text)
{
	return hosts_parse("hosts", text, strlen(text), h);
}

static void
test_good(void)
{
	struct hosts h;

	is(parse(&h, "# two of ours\n\nnode1\r\n  root@node2:2222\tslots=2 addr=10.0.0.2 # big\n"
	    "[fe80::7]:22\nfe80::8\nme@[::1]"), 0, "a file with every syntax is read");
	is(h.n, 5, "a file of five lines has five hosts");
	is(h.places, 6, "slots=2 adds a place");
	is_str(h.host[0].login, "node1", "a plain name is kept");
	is(h.host[0].port, 0, "a missing port is 0");
	ok(h.host[0].addr == NULL, "a missing address is NULL");
	is(h.host[0].line, 3, "a host has its line number");
	is_str(h.host[1].login, "root@node2", "the login contains the user");
	is_str(h.host[1].name, "node2", "the name does not contain the user");
	is(h.host[1].port, 2222, "a port is read");
	is(h.host[1].slots, 2, "slots are read");
	is_str(h.host[1].addr, "10.0.0.2", "an address is read");
	is_str(h.host[2].login, "fe80::7", "brackets are removed");
	is(h.host[2].port, 22, "a port follows brackets");
	is_str(h.host[3].name, "fe80::8", "a bare IPv6 address has no port");
	is(h.host[3].port, 0, "the port of a bare IPv6 address is 0");
	is_str(h.host[4].login, "me@::1", "a user before brackets is kept");
	hosts_free(&h);
}

static void
test_bad(void)
{
	static const struct {
		const char *text, *line;
	} bad[] = {
		{ "", "hosts: no hosts; write the name of one on each line" },
		{ "# only this\n\n", "hosts: no hosts; write the name of one on each line" },
		{ "a\nb\n-oProxyCommand=x\n", "hosts:3: '-oProxyCommand=x' is not a host name" },
		{ "-v", "hosts:1: '-v' is not a host name" },
		{ "root@-x", "hosts:1: 'root@-x' is not a host name" },
		{ "a;reboot", "hosts:1: 'a;reboot' is not a host name" },
		{ "a\n$(b)\n", "hosts:2: '$(b)' is not a host name" },
		{ "a slots=0", "hosts:1: slots: 0 is not in 1..1024" },
		{ "a slots=two", "hosts:1: slots: 'two' is not a whole number" },
		{ "a slot=2", "hosts:1: 'slot=2' is neither slots=N nor addr=ADDRESS" },
		{ "a addr=", "hosts:1: '' is not a host name" },
		{ "a addr=u@b", "hosts:1: 'u@b' is not an address" },
		{ "a:0", "hosts:1: port: 0 is not in 1..65535" },
		{ "a:x", "hosts:1: port: 'x' is not a whole number" },
		{ "[::1", "hosts:1: '[::1' is not [address] or [address]:port" },
		{ "b\n\na\nb slots=2\n", "hosts:4: 'b' is already on line 1; slots=N gives it more places" },
	};
	struct hosts h;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ok(parse(&h, bad[i].text) < 0, "bad file %zu is refused", i);
		is_str(err_line(), bad[i].line, "the error names file, line and fault");
	}
	is(hosts_parse("hosts", "a\0b", 3, &h), ERR_FORMAT, "a zero byte is refused");
}

static void
test_bounds(void)
{
	char *text = malloc(HOSTS_MOST * 8 + 16), *p = text;
	struct hosts h;

	for (unsigned i = 0; i < HOSTS_MOST; i++)
		p += sprintf(p, "h%u\n", i);
	is(parse(&h, text), 0, "HOSTS_MOST hosts are read");
	is(h.n, HOSTS_MOST, "no host is lost");
	hosts_free(&h);
	sprintf(p, "one-more");
	is(parse(&h, text), ERR_LIMIT, "HOSTS_MOST + 1 hosts are refused");
	free(text);
}

static void
test_place(void)
{
	static const uint32_t plain[] = { 0, 1, 2, 0, 1, 2, 0 };
	static const uint32_t slots[] = { 0, 1, 2, 1, 2, 1, 0, 1 };
	struct hosts h;
	int good = 1;

	parse(&h, "a\nb\nc\n");
	for (uint32_t i = 0; i < 7; i++)
		good &= hosts_place(&h, i) == plain[i];
	ok(good, "process i is on host i modulo the hosts");
	hosts_free(&h);
	parse(&h, "a\nb slots=3\nc slots=2\n");
	good = 1;
	for (uint32_t i = 0; i < 8; i++)
		good &= hosts_place(&h, i) == slots[i];
	ok(good, "second slots come after all first ones");
	hosts_free(&h);
}

static void
test_without(void)
{
	static const struct {
		const char *text, *gone, *left, *what;
		uint32_t used, servers, workers;
	} one[] = {
		{ "# ours\na\n\nb slots=2\n c # the last", "", "a\nb slots=2\n c # the last\n", "lines stay", 3, 1, 2 },
		{ "a\nb\nc\nd\ne\nf\n", "ab", "e\nf\nc\nd\n", "spares take the places of lost hosts", 4, 2, 2 },
		{ "a\nb\nc\nd\ne\nf\n", "ae", "f\nb\nc\nd\n", "a spare that is lost takes none", 4, 2, 2 },
		{ "a\nb\nc\nd\n", "b", "c\na\nd\n", "without spares both hosts with workers keep one", 4, 2, 2 },
		{ "a slots=2\nb slots=2\nc slots=2\nd slots=2\ne slots=2\nf slots=2\n", "ab",
		    "e slots=2\nf slots=2\nc slots=2\nd slots=2\n", "the hosts of both workers keep one", 6, 4, 2 },
		{ "a\nb slots=3\nc\nd slots=2\n", "a", "d slots=2\nc\nb slots=3\n",
		    "the host of worker 0 keeps a worker, with other slots", 4, 3, 1 },
	};

	for (size_t i = 0; i < sizeof(one) / sizeof(*one); i++) {
		bool gone[6] = { false };
		struct buf b = { 0 };
		struct hosts h;

		parse(&h, one[i].text);
		for (const char *g = one[i].gone; *g != 0; g++)
			gone[*g - 'a'] = true;
		is(hosts_without(&h, &(struct hosts_loss){ .gone = gone, .used = one[i].used, .servers = one[i].servers,
		    .workers = one[i].workers }, one[i].text, strlen(one[i].text), &b), 0, "hosts are left out of a text");
		is(buf_terminate(&b), 0, "the remaining text is terminated");
		is_str((char *)b.p, one[i].left, one[i].what);
		buf_free(&b);
		hosts_free(&h);
	}
}

int
main(void)
{
	test_good();
	test_bad();
	test_bounds();
	test_place();
	test_without();
	return done();
}
