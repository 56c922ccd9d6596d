/* fuzz_alias - any bytes as a table of names: no crash, and what it says of names ends. */
#include "net/alias.h"
#include "base/io.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static const char *const names[] = { "", "a", "features.0.weight", "layer1.0.bn1.bias" };
	int fd = memfd_create("alias", MFD_CLOEXEC);
	struct buf out = { 0 };
	struct alias *a;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || io_write(fd, p, n) < 0)
		abort();
	for (int back = 0; back < 2; back++)
		if (alias_load(path, back, &a) == 0) {
			for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
				if (alias_apply(a, names[i], &out) < 0)
					abort();
			alias_free(a);
		}
	buf_free(&out);
	close(fd);
	return 0;
}
