/* fuzz_weights - any bytes as a file of weights: no crash, no memory without a bound, and what is read is all there. */
#include "base/io.h"
#include "net/weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const char net[] =
	"tally-net 1\n"
	"data data c=1 h=1 w=2\n"
	"fc f in=data k=2 bias=1\n"
	"softmax s in=f\n";

static void
load(const char *path, const struct graph *want)
{
	struct weights f;
	const struct graph *g;
	volatile float sum = 0;

	if (weights_load(path, want, &f) < 0) {
		if (f.w != NULL || f.graph != NULL || f.nmeta != 0)
			abort();
		return;
	}
	g = want != NULL ? want : f.graph;
	for (size_t i = 0; i < g->P; i++)
		sum += f.w[i] + (f.state != NULL ? f.state[i] : 0);
	for (size_t i = 0; i < g->A; i++)
		sum += f.aux[i];
	(void)sum;
	weights_free(&f);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	int fd = memfd_create("weights", MFD_CLOEXEC);
	struct graph *g;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || io_write(fd, p, n) < 0 || graph_parse(net, sizeof(net) - 1, &g) < 0)
		abort();
	load(path, NULL);
	load(path, g);
	graph_free(g);
	close(fd);
	return 0;
}
