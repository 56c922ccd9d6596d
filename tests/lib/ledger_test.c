/* ledger_test - what moves with workers, by epoch: the start, epochs that are over, who leaves and who comes again. */
#include "ps/ledger.h"
#include "tap.h"

/* Worker w gives a gradient and gets as many weights. */
static void
move(struct ledger *l, uint32_t w, uint32_t bytes)
{
	toll_count(&l->page[w].now, TOLL_IN, &(struct msg){ .type = MSG_PUSH, .len = bytes }, false);
	toll_count(&l->page[w].now, TOLL_OUT, &(struct msg){ .type = MSG_WEIGHTS, .len = bytes }, false);
}

static void
together(void)
{
	struct ledger l;
	struct toll t;
	uint64_t epoch = 7, sum[TOLL_WAYS] = { 0, 0 };

	is(ledger_init(&l, 2), 0, "a ledger");
	ledger_join(&l, 0);
	ledger_join(&l, 1);
	toll_count(&l.page[0].now, TOLL_IN, &(struct msg){ .type = MSG_HELLO, .len = 100 }, false);
	ledger_wire(&l, 0, 150, 50);
	ok(ledger_turn(&l, 0, 0, &t, &epoch) && epoch == LEDGER_NONE, "the start is of no epoch");
	ok(t.payload[TOLL_IN][TOLL_START] == 100 && t.wire[TOLL_IN] == 150 && t.wire[TOLL_OUT] == 50, "... and is told");
	ok(!ledger_turn(&l, 0, 0, &t, &epoch), "who says it again changes nothing");
	move(&l, 0, 1000);
	ok(!ledger_over(&l, &epoch, sum), "not all have begun");
	ok(ledger_turn(&l, 1, 0, &t, &epoch) && !ledger_over(&l, &epoch, sum), "all have begun: no epoch is over by that");
	move(&l, 1, 1000);
	ledger_wire(&l, 0, 1300, 1100);
	ok(ledger_turn(&l, 0, 1, &t, &epoch) && epoch == 0, "a worker's epoch is over");
	ok(t.payload[TOLL_IN][TOLL_GRADIENTS] == 1000 && t.wire[TOLL_IN] == 1150 && t.wire[TOLL_OUT] == 1050, "... with what moved in it");
	ok(!ledger_over(&l, &epoch, sum), "but not all workers'");
	move(&l, 0, 10);
	ok(ledger_turn(&l, 1, 1, &t, &epoch) && ledger_over(&l, &epoch, sum) && epoch == 0, "with the last one's it is");
	ok(sum[TOLL_IN] == 2 * (1000 + MSG_HEAD) && sum[TOLL_OUT] == sum[TOLL_IN],
	    "... and its sum is without the start, and what came later");
	ok(!ledger_over(&l, &epoch, sum), "... once");
	ok(ledger_turn(&l, 0, LEDGER_NONE, &t, &epoch) && epoch == LEDGER_NONE && t.payload[TOLL_IN][TOLL_GRADIENTS] == 10,
	    "who leaves, has a rest");
	ok(!ledger_turn(&l, 0, LEDGER_NONE, &t, &epoch), "... once");
	ok(ledger_turn(&l, 1, 2, &t, &epoch) && ledger_over(&l, &epoch, sum) && epoch == 1, "the others are not kept by it");
	is(sum[TOLL_IN], 10 + MSG_HEAD, "... the rest counts");
	ledger_free(&l);
}

static void
again(void)
{
	struct ledger l;
	struct toll t;
	uint64_t epoch, sum[TOLL_WAYS];

	ledger_init(&l, 1);
	ledger_join(&l, 0);
	ledger_turn(&l, 0, 5, &t, &epoch);
	ok(!ledger_over(&l, &epoch, sum), "a run that goes on begins in its epoch");
	ledger_wire(&l, 0, 500, 50);
	ledger_turn(&l, 0, 6, &t, &epoch);
	ok(epoch == 5 && ledger_over(&l, &epoch, sum) && epoch == 5, "... which is over first");
	ledger_join(&l, 0);
	ledger_wire(&l, 0, 30, 3);
	ok(ledger_turn(&l, 0, 6, &t, &epoch) && epoch == LEDGER_NONE, "a worker that comes again has a start again");
	ok(t.wire[TOLL_IN] == 30 && t.wire[TOLL_OUT] == 3, "... its connection counts from 0");
	ok(!ledger_over(&l, &epoch, sum), "... and no epoch is over twice");
	ledger_free(&l);
}

int
main(void)
{
	together();
	again();
	return done();
}
