/* machine_test - machines in the heads of logs and in documents. */
#include "log/machine.h"
#include "tap.h"

#define ROW(who, what, traffic, load) "1.0\ta\t" who "\t" what "\t\t\t\t\t\t\t\t\t\t" traffic "\t" load
#define NO_TRAFFIC "\t\t\t"
#define GPU(rank, epoch, what) ROW("worker\t" rank, "load\t" epoch, NO_TRAFFIC, "\t\t\t" what)

static const char *const lines[] = {
	"# tally 0.1 tool=pworker host=a rank=0 workers=2 net=lenet engine=cpu device=Some_CPU,_2_threads",
	"# tally 0.1 tool=pworker host=a rank=1 workers=2 net=lenet engine=cpu device=Some_CPU,_2_threads",
	"# tally 0.1 tool=pserver host=a rank=0 servers=1 workers=2",
	ROW("worker\t0", "load\t0", NO_TRAFFIC, "1.50\t0.500"), ROW("worker\t1", "load\t0", NO_TRAFFIC, "2.50\t1.000"),
	ROW("worker\t0", "load\t1", NO_TRAFFIC, "2.50\t0.600"), ROW("worker\t1", "load\t1", NO_TRAFFIC, "3.50\t0.700"),
	ROW("worker\t0", "load\t", NO_TRAFFIC, "9\t1"),
	ROW("worker\t0", "traffic\t0", "1000\t10\tserver 0\twire", "\t"), ROW("worker\t1", "traffic\t0", "2000\t20\tserver 0\twire", "\t"),
	ROW("worker\t0", "traffic\t0", "1000\t10\tserver 0\tweights", "\t"), ROW("server\t0", "traffic\t", "7\t5\tworker 0\twire", "\t"),
	"# tally 0.1 tool=netstat-logging host=a period_s=1 interface=eth0",
	"# another comment", "text",
	"| name | hardware | software |", "| --- | --- | --- |", "| cluster | two GPUs | GCC |", "", "| b | not in a table |",
	"* **Infrastructure 1**: eight GPUs",
};

static const char *const devices[] = {
	"# tally 0.1 tool=pserver host=a rank=0 servers=1 workers=2",
	"# tally 0.1 tool=pworker host=a rank=0 workers=2 engine=cuda device=Some_GPU",
	ROW("worker\t0", "load\t0", NO_TRAFFIC, "1\t0.1"),
	GPU("0", "0", "gpu:0\t0.500\t1000"), GPU("0", "0", "gpu:1\t0.900\t500"), GPU("1", "0", "gpu:0\t0.300\t10"),
	GPU("0", "1", "gpu:0\t0.700\t900"), GPU("0", "", "gpu:0\t0.000\t9000"), GPU("1", "1", "gpu:0\t0.500\t"),
};

static void
test_devices(void)
{
	struct machine_list l = { 0 };
	struct table t = { 0 };
	struct buf out = { 0 };

	for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++)
		if (machine_add_line(&l, devices[i]) < 0)
			ok(0, "machine_add_line() accepts: %s", devices[i]);
	machine_table(&l, &t);
	ok(table_put(&t, TABLE_TSV, &out) == 0 && buf_terminate(&out) == 0, "the table of devices is written");
	is_str((char *)out.p,
	    "machine\tprocesses\ttool\tcpu\thost_load\trank\tdevice\tdevice_load\tdevice_bytes\thardware\tsoftware\n"
	    "a\t1\tpserver\t\t\t\t\t\t\t\ttally 0.1\n"
	    "a\t1\tpworker\t1\t0.1\t\t\t\t\tSome GPU\ttally 0.1, engine cuda\n"
	    "a\t\tpworker\t\t\t0\tgpu:0\t0.6\t1000\t\t\n"
	    "a\t\tpworker\t\t\t0\tgpu:1\t0.9\t500\t\t\n"
	    "a\t\tpworker\t\t\t1\tgpu:0\t0.4\t10\t\t\n", "each device of each rank has a row");
	machine_free(&l);
	table_free(&t);
	buf_free(&out);
}

int
main(void)
{
	struct machine_list l = { 0 };
	struct table t = { 0 };
	struct buf out = { 0 };

	machine_table(&l, &t);
	ok(t.columns == 0, "an empty list makes an empty table");
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		if (machine_add_line(&l, lines[i]) < 0)
			ok(0, "machine_add_line() accepts: %s", lines[i]);
	is(l.n, 5, "the logs have five machines and tools");
	machine_table(&l, &t);
	ok(table_put(&t, TABLE_TSV, &out) == 0 && buf_terminate(&out) == 0, "the table of machines is written");
	is_str((char *)out.p,
	    "machine\tprocesses\ttool\tcpu\thost_load\trx_bytes\ttx_bytes\thardware\tsoftware\n"
	    "a\t2\tpworker\t5\t0.7\t3000\t30\tSome CPU, 2 threads\ttally 0.1, engine cpu\n"
	    "a\t1\tpserver\t\t\t7\t5\t\ttally 0.1\n"
	    "a\t1\tnetstat-logging\t\t\t\t\t\ttally 0.1\n"
	    "cluster\t\t\t\t\t\t\ttwo GPUs\tGCC\n"
	    "Infrastructure 1\t\t\t\t\t\t\teight GPUs\t\n", "a row has the processes, load, traffic and hardware of a machine and tool");
	machine_free(&l);
	table_free(&t);
	buf_free(&out);
	test_devices();
	return done();
}
