/* strangers_test - which connection is closed when there are too many, what they may cost, and what is logged. */
#include "ends.h"
#include "tap.h"

#include "base/clk.h"
#include "wire/strangers.h"

#include <math.h>
#include <string.h>

struct said {
	int	 n;
	char	 last[200];
};

static void
keep_line(void *arg, const char *line)
{
	struct said *said = arg;

	said->n++;
	snprintf(said->last, sizeof(said->last), "%s", line);
}

static void
test_order(void)
{
	static struct strangers s = { .most = 4 };
	struct stranger g[4];

	strangers_add(&s, "10.0.0.1:1", 1, &g[0]);
	strangers_add(&s, "10.0.0.2:1", 2, &g[1]);
	strangers_add(&s, "10.0.0.2:2", 3, &g[2]);
	ok(!strangers_full(&s), "three of four are not too many");
	strangers_add(&s, "[fd00::1]:1", 4, &g[3]);
	ok(strangers_full(&s), "four of four are");
	ok(strangers_before(&s, &g[1], &g[0]) && strangers_before(&s, &g[2], &g[0]) &&
	    !strangers_before(&s, &g[0], &g[1]),
	    "an address with two connections loses one before an older connection of another address");
	ok(strangers_before(&s, &g[1], &g[2]), "the oldest of an address is the first");
	ok(strangers_precedes(&s, &g[0], &g[1]) && strangers_precedes(&s, &g[3], &g[1]) &&
	    !strangers_precedes(&s, &g[1], &g[0]), "an address with few connections is handled first");
	ok(strangers_precedes(&s, &g[1], &g[2]), "the oldest connection of an address is handled first");
	strangers_remove(&s, &g[1]);
	strangers_remove(&s, &g[1]);
	ok(s.n == 3 && !strangers_full(&s), "a connection is removed once");
	ok(strangers_before(&s, &g[0], &g[2]) && strangers_before(&s, &g[2], &g[3]),
	    "the oldest of single connections is first");
}

static bool
is_credible(struct ends *e)
{
	return conn_credible(e->b);
}

static void
test_credible(void)
{
	static const uint8_t key[CONN_KEY] = { 1 };
	static struct strangers s = { .most = 4, .times = 1, .burst_s = 2 };
	struct stranger g[3];
	struct ends e;
	int n;

	ends_meet(&e, key, key);
	for (int i = 0; i < 3; i++)
		strangers_add(&s, i < 2 ? "10.0.0.1:1" : "10.0.0.2:1", (uint64_t)i, &g[i]);
	ok(!strangers_believe(&s, e.b, &g[0]) && !strangers_trust(&g[0]), "a silent peer is not credible");
	ok(ends_run(&e, is_credible) && !conn_open(e.b), "a ClientHello makes a peer credible before it is open");
	ok(strangers_believe(&s, e.b, &g[0]) && strangers_believe(&s, e.b, &g[0]) && strangers_trust(&g[0]),
	    "a credible peer is believed, more than once");
	ok(strangers_before(&s, &g[1], &g[0]) && strangers_before(&s, &g[2], &g[0]),
	    "a credible peer is closed last, even if it is the oldest");
	ok(strangers_precedes(&s, &g[0], &g[1]) && strangers_precedes(&s, &g[0], &g[2]),
	    "a credible peer is handled first");
	ok(strangers_before(&s, &g[1], &g[2]), "a credible peer does not count among those of its address");
	is(s.n, 3, "a credible peer is a stranger");
	strangers_remove(&s, &g[0]);
	strangers_remove(&s, &g[1]);
	ok(s.n == 1 && !strangers_before(&s, &g[2], &g[2]), "a credible peer is removed");
	strangers_remove(&s, &g[2]);
	for (uint32_t i = 0; i < STRANGERS_ROWS; i++)
		s.n += s.row[i];
	is(s.n, 0, "all peers that were removed are counted no more");
	for (n = 0; n < 1000 && strangers_may(&s, STRANGERS_ACCEPT); n++) {
		strangers_charge(&s, STRANGERS_ACCEPT);
		strangers_add(&s, "10.0.0.1:1", 1, &g[0]);
		strangers_believe(&s, e.b, &g[0]);
		strangers_remove(&s, &g[0]);
	}
	is(n, 1000, "credible peers take nothing from the budget");
	ends_close(&e);
}

/* Does what it may, up to a number.  Returns what it did. */
static int
spend(struct strangers *s, enum strangers_cost cost, int most)
{
	int n = 0;

	for (; n < most && strangers_may(s, cost); n++)
		strangers_charge(s, cost);
	return n;
}

static void
test_budget(void)
{
	static struct strangers s = { .most = 4, .times = 1, .burst_s = 2 };
	double begun = clk_s();
	int n = spend(&s, STRANGERS_TURN, 1000000);

	ok(n >= 2 * STRANGERS_TURNS && n <= (2 + clk_s() - begun) * STRANGERS_TURNS + 1,
	    "strangers get the budget of the burst at once, and then no more: %d turns", n);
	ok(strangers_wait_s(&s) > 0 && strangers_wait_s(&s) <= 1, "the budget is there again after %g s", strangers_wait_s(&s));
	ok(strangers_may(&s, STRANGERS_ACCEPT), "turns are not taken from the budget of new connections");
	s.expects = true;
	is(spend(&s, STRANGERS_TURN, 5000), 5000, "strangers are not limited while peers are missing");
	ok(isinf(strangers_wait_s(&s)), "strangers do not wait while peers are missing");
	s.expects = false;
	s.budget[STRANGERS_TURN].at -= 2.5;
	n = spend(&s, STRANGERS_TURN, 1000000);
	ok(n >= 2 * STRANGERS_TURNS, "turns while peers were missing are not counted: %d turns follow", n);
}

static void
test_log(void)
{
	static struct said said;
	static struct strangers s = { .say = keep_line, .arg = &said };

	strangers_refused(&s, "10.0.0.1:7: does not speak TLS");
	is_str(said.last, "refused 10.0.0.1:7: does not speak TLS", "a refusal is logged with address and reason");
	for (int i = 0; i < 1000; i++)
		strangers_refused(&s, "10.0.0.1:8: does not speak TLS");
	is(said.n, STRANGERS_LINES, "a flood has few lines");
	s.since -= STRANGERS_S;
	strangers_refused(&s, "10.0.0.1:9: does not speak TLS");
	is(said.n, STRANGERS_LINES + 2, "a later refusal is logged, after a line about those left out");
	is_str(said.last, "refused 10.0.0.1:9: does not speak TLS", "the later refusal is the last line");
	for (uint32_t i = 0; i < STRANGERS_LINES + 2; i++)
		strangers_refused(&s, "10.0.0.1:9: does not speak TLS");
	strangers_end(&s);
	is_str(said.last, "refused 3 more connections", "the end counts those left out");
	strangers_end(&s);
	is(said.n, 2 * STRANGERS_LINES + 2, "the count is logged once");
}

int
main(void)
{
	test_order();
	test_credible();
	test_budget();
	test_log();
	return done();
}
