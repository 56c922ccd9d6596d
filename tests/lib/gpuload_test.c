/* gpuload_test - mean loads from a stand-in for NVML, and errors without NVML or the GPU. */
#include "watch/gpuload.h"

#include "base/err.h"
#include "tap.h"

#include <stdlib.h>
#include <unistd.h>

int
main(int argc, char *argv[])
{
	static const char *const bus[] = { "0000:00:00.0", "0000:00:01.0" }, *const none[] = { "0000:00:07.0" };
	struct gpuload *g;
	uint64_t bytes;
	double load;
	char folder[4096];

	(void)argc;
	/* The dynamic linker reads LD_LIBRARY_PATH when a process starts. */
	if (getenv("GPULOAD_TEST") == NULL && getenv("BUILD") != NULL) {
		snprintf(folder, sizeof(folder), "%s/tests/stub", getenv("BUILD"));
		setenv("LD_LIBRARY_PATH", folder, 1);
		setenv("GPULOAD_TEST", "1", 1);
		execv(argv[0], argv);
	}
	if (gpuload_open(bus, 2, &g) < 0) {
		skip("loads of GPUs", err_line());
		return done();
	}
	gpuload_sample(g, 10);
	gpuload_sample(g, 10.2);
	gpuload_sample(g, 11);
	is(gpuload_read(g, 0, &load, &bytes), 0, "the load of GPU 0 is read");
	near(load, 0.3, 1e-9, "the load is the mean of two samples, since the third came too soon");
	is(bytes, 1000000000, "the memory of GPU 0 is that in use");
	is(gpuload_read(g, 1, &load, &bytes), 0, "the load of GPU 1 is read");
	near(load, 0.6, 1e-9, "GPU 1 has a load of its own");
	is(bytes, 1000000001, "GPU 1 has memory of its own");
	is(gpuload_read(g, 0, &load, &bytes), 0, "the load of GPU 0 is read again at once");
	near(load, 0.2, 1e-9, "a load without samples is the current one");
	gpuload_close(g);
	is(gpuload_open(none, 1, &g), ERR_NOTSUP, "a GPU that does not exist is refused: %s", err_line());
	ok(g == NULL && strstr(err_line(), "0000:00:07.0: Not Found") != NULL, "the message names the GPU");
	setenv("TALLY_NVML", "no", 1);
	is(gpuload_open(bus, 1, &g), ERR_NOTSUP, "an NVML that does not start is refused: %s", err_line());
	gpuload_close(NULL);
	return done();
}
