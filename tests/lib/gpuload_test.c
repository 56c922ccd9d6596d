/* gpuload_test - the mean of what NVML says, asked at most so often; nothing where there is no NVML or no such GPU. */
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
	/* The stand-in is found by LD_LIBRARY_PATH, which counts from a process's start. */
	if (getenv("GPULOAD_TEST") == NULL && getenv("BUILD") != NULL) {
		snprintf(folder, sizeof(folder), "%s/tests/stub", getenv("BUILD"));
		setenv("LD_LIBRARY_PATH", folder, 1);
		setenv("GPULOAD_TEST", "1", 1);
		execv(argv[0], argv);
	}
	if (gpuload_open(bus, 2, &g) < 0) {
		skip("GPUs that are none", err_line());
		return done();
	}
	gpuload_look(g, 10);
	gpuload_look(g, 10.2);
	gpuload_look(g, 11);
	is(gpuload_take(g, 0, &load, &bytes), 0, "a GPU's load");
	near(load, 0.3, 1e-9, "... is the mean of two looks, as the third came too soon");
	is(bytes, 1000000000, "... bytes in use");
	is(gpuload_take(g, 1, &load, &bytes), 0, "another's");
	near(load, 0.6, 1e-9, "... is its own");
	is(bytes, 1000000001, "... bytes too");
	is(gpuload_take(g, 0, &load, &bytes), 0, "at once again");
	near(load, 0.2, 1e-9, "... it is what NVML says now");
	gpuload_close(g);
	is(gpuload_open(none, 1, &g), ERR_NOTSUP, "no such GPU: %s", err_line());
	ok(g == NULL && strstr(err_line(), "0000:00:07.0: Not Found") != NULL, "... is named");
	setenv("TALLY_NVML", "no", 1);
	is(gpuload_open(bus, 1, &g), ERR_NOTSUP, "an NVML that does not start: %s", err_line());
	gpuload_close(NULL);
	return done();
}
