/* epoch_traffic_test - what moves with workers, by epoch: the start, epochs that are over, who leaves and who comes again. */
#include "ps/server/epoch_traffic.h"
#include "tap.h"

/* Worker w gives a gradient and gets as many weights. */
static void
move(struct epoch_traffic *l, uint32_t w, uint32_t bytes)
{
	peer_traffic_count(&l->page[w].now, PEER_TRAFFIC_RECEIVED, &(struct msg){ .type = MSG_PUSH, .len = bytes }, false, CODEC_F32);
	peer_traffic_count(&l->page[w].now, PEER_TRAFFIC_SENT, &(struct msg){ .type = MSG_WEIGHTS, .len = bytes }, false, CODEC_F32);
}

static void
together(void)
{
	struct epoch_traffic l;
	struct peer_traffic t;
	uint64_t epoch = 7, sum[PEER_TRAFFIC_WAYS] = { 0, 0 };

	is(epoch_traffic_init(&l, 2, 2), 0, "the traffic of two workers is counted");
	epoch_traffic_join(&l, 0);
	epoch_traffic_join(&l, 1);
	peer_traffic_count(&l.page[0].now, PEER_TRAFFIC_RECEIVED, &(struct msg){ .type = MSG_HELLO, .len = 100 }, false, CODEC_F32);
	epoch_traffic_wire(&l, 0, 150, 50);
	ok(epoch_traffic_turn(&l, 0, 0, &t, &epoch) && epoch == EPOCH_TRAFFIC_NONE, "the start is of no epoch");
	ok(t.payload[PEER_TRAFFIC_RECEIVED][PEER_TRAFFIC_START] == 100 &&
	       t.wire[PEER_TRAFFIC_RECEIVED] == 150 && t.wire[PEER_TRAFFIC_SENT] == 50,
	   "the traffic of the start is reported");
	ok(!epoch_traffic_turn(&l, 0, 0, &t, &epoch), "a worker that announces its epoch again changes nothing");
	move(&l, 0, 1000);
	ok(!epoch_traffic_over(&l, &epoch, sum), "an epoch that not all have begun is not over");
	ok(epoch_traffic_turn(&l, 1, 0, &t, &epoch) && !epoch_traffic_over(&l, &epoch, sum), "all have begun: no epoch is over by that");
	move(&l, 1, 1000);
	epoch_traffic_wire(&l, 0, 1300, 1100);
	ok(epoch_traffic_turn(&l, 0, 1, &t, &epoch) && epoch == 0, "a worker's epoch is over");
	ok(t.payload[PEER_TRAFFIC_RECEIVED][PEER_TRAFFIC_GRADIENTS] == 1000 && t.wire[PEER_TRAFFIC_RECEIVED] == 1150 &&
	    t.wire[PEER_TRAFFIC_SENT] == 1050, "the traffic of the epoch is reported");
	ok(!epoch_traffic_over(&l, &epoch, sum), "an epoch that a worker has not finished is not over");
	move(&l, 0, 10);
	ok(epoch_traffic_turn(&l, 1, 1, &t, &epoch) && epoch_traffic_over(&l, &epoch, sum) && epoch == 0,
	    "an epoch is over when the last worker has finished it");
	ok(sum[PEER_TRAFFIC_RECEIVED] == 2 * (1000 + MSG_HEAD) &&
	       sum[PEER_TRAFFIC_SENT] == sum[PEER_TRAFFIC_RECEIVED],
	   "the sum of an epoch excludes the start and later traffic");
	ok(!epoch_traffic_over(&l, &epoch, sum), "an epoch ends once");
	ok(epoch_traffic_turn(&l, 0, EPOCH_TRAFFIC_NONE, &t, &epoch) && epoch == EPOCH_TRAFFIC_NONE &&
	    t.payload[PEER_TRAFFIC_RECEIVED][PEER_TRAFFIC_GRADIENTS] == 10,
	    "a worker that leaves has a rest");
	ok(!epoch_traffic_turn(&l, 0, EPOCH_TRAFFIC_NONE, &t, &epoch), "the rest is reported once");
	ok(epoch_traffic_turn(&l, 1, 2, &t, &epoch) && epoch_traffic_over(&l, &epoch, sum) && epoch == 1, "the others are not kept by it");
	is(sum[PEER_TRAFFIC_RECEIVED], 10 + MSG_HEAD, "the rest counts in the epoch");
	epoch_traffic_free(&l);
}

static void
again(void)
{
	struct epoch_traffic l;
	struct peer_traffic t;
	uint64_t epoch, sum[PEER_TRAFFIC_WAYS];

	epoch_traffic_init(&l, 1, 1);
	epoch_traffic_join(&l, 0);
	epoch_traffic_turn(&l, 0, 5, &t, &epoch);
	ok(!epoch_traffic_over(&l, &epoch, sum), "a run that goes on begins in its epoch");
	epoch_traffic_wire(&l, 0, 500, 50);
	epoch_traffic_turn(&l, 0, 6, &t, &epoch);
	ok(epoch == 5 && epoch_traffic_over(&l, &epoch, sum) && epoch == 5, "the epoch of the start ends first");
	epoch_traffic_join(&l, 0);
	epoch_traffic_wire(&l, 0, 30, 3);
	ok(epoch_traffic_turn(&l, 0, 6, &t, &epoch) && epoch == EPOCH_TRAFFIC_NONE, "a worker that comes again has a start again");
	ok(t.wire[PEER_TRAFFIC_RECEIVED] == 30 && t.wire[PEER_TRAFFIC_SENT] == 3,
	    "the traffic of a new connection counts from 0");
	ok(!epoch_traffic_over(&l, &epoch, sum), "no epoch ends twice");
	epoch_traffic_free(&l);
}

int
main(void)
{
	together();
	again();
	return done();
}
