/* fuzz_script - any bytes as a net's script: it ends, and leaves a whole graph or none. */
#include "base/io.h"
#include "net/graph/script.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	const struct script_opt opt = { "layers", "2" };
	int fd = memfd_create("script", MFD_CLOEXEC), e;
	struct graph *g, *again;
	struct buf text = { 0 };
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || io_write(fd, p, n) < 0)
		abort();
	e = script_run(path, 0, 0, 0, 0, &opt, 1, &g);
	if ((e == 0) != (g != NULL))
		abort();
	if (g != NULL && (graph_text(g, &text) < 0 || graph_parse((const char *)text.p, text.n, &again) < 0))
		abort();
	if (g != NULL)
		graph_free(again);
	graph_free(g);
	buf_free(&text);
	close(fd);
	return 0;
}
