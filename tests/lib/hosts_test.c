/* hosts_test - does hosts keep its header's word? */
#include "tap.h"

#include "base/err.h"
#include "run/launcher/hosts.h"

#include <stdlib.h>

static int
parse(struct hosts *h, const char *text)
{
	return hosts_parse(h, "hosts", text, strlen(text));
}

static void
test_good(void)
{
	struct hosts h;

	is(parse(&h, "# two of ours\n\nnode1\r\n  root@node2:2222\tslots=2 addr=10.0.0.2 # big\n"
	    "[fe80::7]:22\nfe80::8\nme@[::1]"), 0, "a file with all there can be is read");
	is(h.n, 5, "five hosts");
	is(h.places, 6, "six places");
	is_str(h.host[0].login, "node1", "a plain name");
	is(h.host[0].port, 0, "no port is 0");
	ok(h.host[0].addr == NULL, "no address is NULL");
	is(h.host[0].line, 3, "a host knows its line");
	is_str(h.host[1].login, "root@node2", "the login keeps its user");
	is_str(h.host[1].name, "node2", "the name does not");
	is(h.host[1].port, 2222, "a port");
	is(h.host[1].slots, 2, "slots");
	is_str(h.host[1].addr, "10.0.0.2", "an address");
	is_str(h.host[2].login, "fe80::7", "brackets come off");
	is(h.host[2].port, 22, "and give way to a port");
	is_str(h.host[3].name, "fe80::8", "a bare IPv6 address has no port");
	is(h.host[3].port, 0, "none at all");
	is_str(h.host[4].login, "me@::1", "a user in front of brackets");
	hosts_free(&h);
}

static void
test_bad(void)
{
	static const struct {
		const char *text, *line;
	} bad[] = {
		{ "", "hosts: no host in it" },
		{ "# only this\n\n", "hosts: no host in it" },
		{ "a\nb\n-oProxyCommand=x\n", "hosts:3: '-oProxyCommand=x' is not a host's name" },
		{ "-v", "hosts:1: '-v' is not a host's name" },
		{ "root@-x", "hosts:1: 'root@-x' is not a host's name" },
		{ "a;reboot", "hosts:1: 'a;reboot' is not a host's name" },
		{ "a\n$(b)\n", "hosts:2: '$(b)' is not a host's name" },
		{ "a slots=0", "hosts:1: slots: 0 is not in 1..1024" },
		{ "a slots=two", "hosts:1: slots: 'two' is not a whole number" },
		{ "a slot=2", "hosts:1: 'slot=2' is neither slots=N nor addr=ADDRESS" },
		{ "a addr=", "hosts:1: '' is not a host's name" },
		{ "a addr=u@b", "hosts:1: 'u@b' is not an address" },
		{ "a:0", "hosts:1: port: 0 is not in 1..65535" },
		{ "a:x", "hosts:1: port: 'x' is not a whole number" },
		{ "[::1", "hosts:1: '[::1' is not [address] or [address]:port" },
		{ "b\n\na\nb slots=2\n", "hosts:4: 'b' is on line 1 already; slots=N gives it more places" },
	};
	struct hosts h;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ok(parse(&h, bad[i].text) < 0, "bad file %zu is refused", i);
		is_str(err_line(), bad[i].line, "in one line with its place");
	}
	is(hosts_parse(&h, "hosts", "a\0b", 3), ERR_FORMAT, "a zero byte is refused");
	is(hosts_read(&h, "/nonexistent/hosts"), ERR_SYS, "a file that is not there");
	is_str(err_line(), "/nonexistent/hosts: open: No such file or directory", "is named");
}

static void
test_bounds(void)
{
	char *text = malloc(HOSTS_MOST * 8 + 16), *p = text;
	struct hosts h;

	for (unsigned i = 0; i < HOSTS_MOST; i++)
		p += sprintf(p, "h%u\n", i);
	is(parse(&h, text), 0, "as many hosts as may be");
	is(h.n, HOSTS_MOST, "are all there");
	hosts_free(&h);
	sprintf(p, "one-more");
	is(parse(&h, text), ERR_LIMIT, "one more is refused");
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

int
main(void)
{
	test_good();
	test_bad();
	test_bounds();
	test_place();
	return done();
}
