/* mark_test - a log is copied in pieces of any size, and each epoch's end gets its traffic. */
#include "watch/mark.h"
#include "tap.h"

#define HEAD	"time_s\thost\trole\trank\tevent\tepoch\tstep\tsamples\tloss\taccuracy\tsamples_per_s\tlr\twait_s\t" \
		"sent_bytes\treceived_bytes"
#define ROW(rank, event)	"1\th\tworker\t" rank "\t" event "\t0\t\t\t\t\t\t\t\t\t"

static const char in[] =
    "# tally 0.1\n" HEAD "\n"
    ROW("0", "step") "\n"
    ROW("0", "epoch") "\n"
    ROW("1", "epoch") "\n"
    "INFO:root:Epoch[3] Train-accuracy=0.5\n"
    "INFO:root:Epoch[3] Time cost=9.5\r\n"
    "worker 1: Iteration[4] Time cost=9.5\n"
    "the end of epoch 7\n"
    "Epoch[5] Time cost=1.0";		/* no newline: not a line */

static const char want[] =
    "# tally 0.1\n" HEAD "\tnic_rx_bytes\tnic_tx_bytes\n"
    ROW("0", "step") "\n"
    ROW("0", "epoch") "\t90\t9\n"
    ROW("1", "epoch") "\t90\t9\n"
    "INFO:root:Epoch[3] Train-accuracy=0.5\n"
    "INFO:root:Epoch[3] Time cost=9.5\r\n"
    "INFO:root:Epoch[3] Traffic rx=90 tx=9 bytes\n"
    "worker 1: Iteration[4] Time cost=9.5\n"
    "worker 1: Iteration[4] Traffic rx=0 tx=0 bytes\n"
    "the end of epoch 7\n"
    "Traffic rx=0 tx=0 bytes\n"
    "Epoch[5] Time cost=1.0";

static struct traffic
at(uint64_t rx, uint64_t tx)
{
	return (struct traffic){ { rx, tx }, { 0, 0 }, { TRAFFIC_NONE, TRAFFIC_NONE } };
}

static void
pieces(size_t most, const regex_t *also)
{
	struct traffic before = at(10, 1), now = at(100, 10);
	struct marker *m = mark_new(&before, also);
	struct buf out = { 0 };
	int e = 0;

	for (size_t i = 0; i < sizeof(in) - 1 && e == 0; i += most)
		e = mark_copy(m, in + i, sizeof(in) - 1 - i < most ? sizeof(in) - 1 - i : most, &now, &out);
	ok(e == 0 && mark_copy(m, "", 0, &now, &out) == 0 && buf_terminate(&out) == 0, "pieces of %zu bytes are copied", most);
	is_str((char *)out.p, want, "the copy has the marks");
	mark_free(m);
	buf_free(&out);
}

/* A line too long for a mark, which would match at its end. */
static void
long_line(void)
{
	static char line[MARK_LINE * 2 + 16];
	struct traffic now = at(0, 0);
	struct marker *m = mark_new(&now, NULL);
	struct buf out = { 0 };

	memset(line, 'x', sizeof(line));
	memcpy(line + MARK_LINE * 2, "] Time cost=1\n", 14);
	ok(mark_copy(m, line, 1000, &now, &out) == 0 && mark_copy(m, line + 1000, MARK_LINE * 2 + 14 - 1000, &now, &out) == 0,
	    "a long line is copied");
	ok(out.n == MARK_LINE * 2 + 14 && memcmp(out.p, line, out.n) == 0, "a long line gets no mark");
	out.n = 0;
	ok(mark_copy(m, "Epoch[1] Time cost=2\n", 21, &now, &out) == 0 && out.n > 21, "the line after a long one gets a mark");
	mark_free(m);
	buf_free(&out);
}

int
main(void)
{
	regex_t also;

	if (regcomp(&also, "^the end of epoch [0-9]+$", REG_EXTENDED | REG_NOSUB) != 0)
		return 1;
	for (size_t n = 1; n < 40; n += 13)
		pieces(n, &also);
	pieces(sizeof(in), &also);
	long_line();
	regfree(&also);
	return done();
}
