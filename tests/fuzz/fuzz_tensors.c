/* fuzz_tensors - any bytes as a file of tensors: no crash, no memory without a bound, and every number of the table is there. */
#include "base/io.h"
#include "tensor/tensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	int fd = memfd_create("tensors", MFD_CLOEXEC);
	struct tensors t;
	uint8_t last[8];
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || io_write(fd, p, n) < 0)
		abort();
	if (tensors_open(&t, path) < 0) {
		if (t.n != 0 || t.nmeta != 0)
			abort();
	} else {
		for (size_t i = 0; i < t.n; i++)
			if (t.t[i].count > 0 && tensors_read(&t, &t.t[i], t.t[i].count - 1, 1, last) < 0)
				abort();
	}
	tensors_close(&t);
	close(fd);
	return 0;
}
