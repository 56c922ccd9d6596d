/* machine_test - machines out of the heads of logs, and out of documents. */
#include "run/machine.h"
#include "tap.h"

static const char *const lines[] = {
	"# tally 0.1 tool=pworker host=a rank=0 workers=2 net=lenet engine=cpu device=Some_CPU,_2_threads",
	"# tally 0.1 tool=pworker host=a rank=1 workers=2 net=lenet engine=cpu device=Some_CPU,_2_threads",
	"# tally 0.1 tool=netstat-logging host=a period_s=1 interface=eth0",
	"# another comment", "text",
	"| name | hardware | software |", "| --- | --- | --- |", "| cluster | two GPUs | GCC |", "", "| b | not in a table |",
	"* **Infrastructure 1**: eight GPUs",
};

int
main(void)
{
	struct machine_list l = { 0 };
	struct table t = { 0 };
	struct buf out = { 0 };

	ok(machine_table(&l, &t) == 0 && t.columns == 0, "no machines, no table");
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		if (machine_take(&l, lines[i]) < 0)
			ok(0, "taken: %s", lines[i]);
	is(l.n, 4, "machines");
	is(l.started, 2, "workers");
	ok(machine_table(&l, &t) == 0 && table_put(&t, TABLE_TSV, &out) == 0 && buf_terminate(&out) == 0, "a table");
	is_str((char *)out.p,
	    "machine\tprocesses\ttool\thardware\tsoftware\n"
	    "a\t2\tpworker\tSome CPU, 2 threads\ttally 0.1, engine cpu\n"
	    "a\t1\tnetstat-logging\t\ttally 0.1\n"
	    "cluster\t\t\ttwo GPUs\tGCC\n"
	    "Infrastructure 1\t\t\teight GPUs\t\n", "... of them");
	machine_free(&l);
	table_free(&t);
	buf_free(&out);
	return done();
}
