/* doc_test - measurements in tables and summaries of documents. */
#include "log/doc.h"
#include "tap.h"

struct want {
	const char *line;
	const char *label;	/* NULL: measures nothing */
	uint64_t at;
	enum logline_measure measure;
	double	 value;
};

static const struct want wants[] = {
	{ "| net | gpus | Accuracy (validation) | Epochs | Training time (s/epoch) | Throughput (samples/s)", NULL, 0, 0, 0 },
	{ "| --- | --- | --- | --- | --- | ---", NULL, 0, 0, 0 },
	{ "| lenet | 2 | 0.75 | 12 | 8.1s | 6800 (8-80%)", "lenet 2", 12, LOGLINE_VAL_ACCURACY, 0.75 },
	{ "| lenet | 2 | 0.75 | 12 | 8.1s | 6800 (8-80%)", "lenet 2", 12, LOGLINE_SECONDS, 8.1 },
	{ "| lenet | 2 | 0.75 | 12 | 8.1s | 6800 (8-80%)", "lenet 2", 12, LOGLINE_SPEED, 6800 },
	{ "| lenet | 2 | 0.75 | 12 | 8.1s | 6800 (8-80%)", "lenet 2", 12, LOGLINE_LOAD, 0.8 },
	{ "| mlp |  | x | ? | 7 | ", "mlp", LOGLINE_WHOLE, LOGLINE_SECONDS, 7 },
	{ "| mlp | 4 |  |  |  | ", NULL, 0, 0, 0 },
	{ "| a\\|b\\\\ \\<c> d\\e | 2 | 0.75 |", "a|b\\ <c> d\\e 2", LOGLINE_WHOLE, LOGLINE_VAL_ACCURACY, 0.75 },
	{ "", NULL, 0, 0, 0 },
	{ "| name | hardware | software |", NULL, 0, 0, 0 },
	{ "| a | 10 | 0.5 |", NULL, 0, 0, 0 },
	{ "and text", NULL, 0, 0, 0 },
	{ "| step | train loss | test accuracy | rx | tx |", NULL, 0, 0, 0 },
	{ "| 100 | 1.5 | 0.25 | 2 KiB | 3 MB |", "", 100, LOGLINE_TRAIN_LOSS, 1.5 },
	{ "| 100 | 1.5 | 0.25 | 2 KiB | 3 MB |", "", 100, LOGLINE_RX, 2048 },
	{ "| 100 | 1.5 | 0.25 | 2 KiB | 3 MB |", "", 100, LOGLINE_TX, 3e6 },
	{ "cost of an epoch (unit:GiB)", NULL, 0, 0, 0 },
	{ "       rx    tx ", NULL, 0, 0, 0 },
	{ "  a    1.5   2", "a", LOGLINE_WHOLE, LOGLINE_RX, 1.5 * 1073741824.0 },
	{ "  b    1.5   2", "b", LOGLINE_WHOLE, LOGLINE_TX, 2 * 1073741824.0 },
	{ "", NULL, 0, 0, 0 },
	{ "  b    1.5   2", NULL, 0, 0, 0 },
	{ "in all (unit: MB)", NULL, 0, 0, 0 },
	{ "    rx    tx", NULL, 0, 0, 0 },
	{ "  a    1664   3", "a", LOGLINE_WHOLE, LOGLINE_RX, 1664e6 },
	{ "", NULL, 0, 0, 0 },
	{ "###server1:", NULL, 0, 0, 0 },
	{ "                           rx         |       tx", NULL, 0, 0, 0 },
	{ "--------------------------------------+------------------", NULL, 0, 0, 0 },
	{ "  bytes                     2.50 TiB  |      512.00 KiB", "server1", LOGLINE_WHOLE, LOGLINE_RX, 2.5 * 1099511627776.0 },
	{ "  bytes                     2.50 TiB  |      512.00 KiB", "server1", LOGLINE_WHOLE, LOGLINE_TX, 524288 },
	{ "          max          970.50 Mbit/s  |     1.25 Gbit/s", "server1", LOGLINE_WHOLE, LOGLINE_RX_PEAK, 970.5 },
	{ "          max          970.50 Mbit/s  |     1.25 Gbit/s", "server1", LOGLINE_WHOLE, LOGLINE_TX_PEAK, 1250 },
	{ "      average         500.00 kbit/s  |   25000000 bit/s", "server1", LOGLINE_WHOLE, LOGLINE_RX_RATE, 0.5 },
	{ "      average         500.00 kbit/s  |   25000000 bit/s", "server1", LOGLINE_WHOLE, LOGLINE_TX_RATE, 25 },
	{ "          min                0 bit/s  |         0 bit/s", NULL, 0, 0, 0 },
	{ "  packets                 2723464145  |      2588580236", "server1", LOGLINE_WHOLE, LOGLINE_RX_PACKETS, 2723464145 },
	{ "  packets                 2723464145  |      2588580236", "server1", LOGLINE_WHOLE, LOGLINE_TX_PACKETS, 2588580236 },
	{ "          max             113616 p/s  |      114283 p/s", NULL, 0, 0, 0 },
	{ "      average              59604 p/s  |", NULL, 0, 0, 0 },
	{ "  time                761.50 minutes", "server1", LOGLINE_WHOLE, LOGLINE_SECONDS, 45690 },
	{ "  time                     9 seconds", "server1", LOGLINE_WHOLE, LOGLINE_SECONDS, 9 },
	{ " eth0  /  traffic statistics", NULL, 0, 0, 0 },
	{ "bytes: rx 1 GiB  | tx 2 GiB <br>", "eth0", LOGLINE_WHOLE, LOGLINE_TX, 2147483648.0 },
	{ " with init: bytes     47 B  |       48 KiB", "with init", LOGLINE_WHOLE, LOGLINE_RX, 47 },
	{ "bytes 5 apples | 6 pears", NULL, 0, 0, 0 },
	{ "two layers   Acc@1 81.500 Acc@5 99.550", "two layers", LOGLINE_WHOLE, LOGLINE_VAL_ACCURACY, 0.815 },
	{ "two layers   Acc@1 81.500 Acc@5 99.550", "two layers", LOGLINE_WHOLE, LOGLINE_VAL_TOP5, 0.9955 },
	{ "batch131*2+93  RX bytes:4052 (4.0 TB)  TX bytes:4078 (4.0 TB)", "two layers", 355, LOGLINE_RX_SO_FAR, 4052 },
	{ "20  RX bytes:4052  TX bytes:4078", "two layers", 20, LOGLINE_TX_SO_FAR, 4078 },
	{ "RX bytes:4052  TX bytes:4078", NULL, 0, 0, 0 },
	{ "batch999999999*999999999*999999999  RX bytes:4052  TX bytes:4078", NULL, 0, 0, 0 },
	{ "# result", NULL, 0, 0, 0 },
	{ "2.Training/Testing Accuracy achieved: 87.5% / 71.5%", "result", LOGLINE_WHOLE, LOGLINE_TRAIN_ACCURACY, 0.875 },
	{ "2.Training/Testing Accuracy achieved: 87.5% / 71.5%", "result", LOGLINE_WHOLE, LOGLINE_VAL_ACCURACY, 0.715 },
	{ "4.Total training time: 2.5 minutes", "result", LOGLINE_WHOLE, LOGLINE_SECONDS, 150 },
	{ "a note for every epoch, so on average, one epoch cost:", NULL, 0, 0, 0 },
	{ "###server1:", NULL, 0, 0, 0 },
	{ "  bytes                     2.50 TiB  |      512.00 KiB", "one epoch: server1", LOGLINE_WHOLE, LOGLINE_TX, 524288 },
	{ "all of it(30 epochs):", NULL, 0, 0, 0 },
	{ " with init: bytes     47 B  |       48 KiB", "30 epochs: with init", LOGLINE_WHOLE, LOGLINE_RX, 47 },
	{ "epoch 50", NULL, 0, 0, 0 },
	{ "###server2:", NULL, 0, 0, 0 },
	{ "Acc@1 81.500", "epoch 50: server2", LOGLINE_WHOLE, LOGLINE_VAL_ACCURACY, 0.815 },
	{ "two layers", NULL, 0, 0, 0 },
	{ "20  RX bytes:4052  TX bytes:4078", "two layers", 20, LOGLINE_TX_SO_FAR, 4078 },
	{ "Acc@1 81.500", "two layers", LOGLINE_WHOLE, LOGLINE_VAL_ACCURACY, 0.815 },
	{ "2.000\t2026-11-21T19:10:00.123Z\thost\teth0\tend\t2.000\t1000\t20\t3\t4\t\t", "host eth0", LOGLINE_WHOLE, LOGLINE_RX, 1000 },
	{ "2.000\t2026-11-21T19:10:00.123Z\thost\teth0\tperiod\t2.000\t1000\t20\t3\t4\t\t", NULL, 0, 0, 0 },
	{ "### Two machines", NULL, 0, 0, 0 }, { "- `batch = 5`, `rate = .1`", NULL, 0, 0, 0 }, { "", NULL, 0, 0, 0 },
	{ "| epoch | time |", NULL, 0, 0, 0 },
	{ "| 10 | 7 |", "Two machines: batch = 5, rate = .1", 10, LOGLINE_SECONDS, 7 },
	{ "### Three machines", NULL, 0, 0, 0 }, { "| epoch | time |", NULL, 0, 0, 0 },
	{ "| 10 | 7 |", "", 10, LOGLINE_SECONDS, 7 },
	{ "Epoch[0] Train-accuracy=0.5", NULL, 0, 0, 0 },
};

int
main(void)
{
	struct doc d = { 0 };
	struct logline l;

	for (const struct want *w = wants; w < wants + sizeof(wants) / sizeof(*wants); w++) {
		int got = doc_parse(&d, w->line, &l);

		if (w->label == NULL)
			is(got, 0, "measures nothing: '%.60s'", w->line);
		else if (ok(got == 1 && l.at == w->at && strcmp(l.label, w->label) == 0 && l.has[w->measure], "measures: '%.60s'", w->line))
			near(l.value[w->measure], w->value, 1e-9 * w->value, "a measurement has the value %g", w->value);
		else
			printf("# at %llu, label '%s'\n", (unsigned long long)l.at, l.label);
	}
	return done();
}
