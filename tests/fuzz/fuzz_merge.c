/* fuzz_merge - any bytes as two files of tensors to be merged: no crash, and what is planned can be written. */
#include "base/err.h"
#include "base/io.h"
#include "net/merge/merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static const double half[] = { 0.5, 0.5 };
	int fd = memfd_create("merge", MFD_CLOEXEC);
	char path[64], *in[] = { path, path };

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || io_write(fd, p, n) < 0)
		abort();
	for (int kind = TENSORS_SAFE; kind <= TENSORS_PARAMS; kind++)
		for (int mode = MERGE_BOTH; mode <= MERGE_WEIGHTS; mode++) {
			struct merge_opt o = { .path = in, .n = 2, .share = half, .state = true, .kind = (enum tensors_kind)kind,
				.average = (enum merge_average)mode };

			(void)merge_run(&o, "/dev/null");
			o.n = 1;
			o.share = NULL;
			(void)merge_run(&o, "/dev/null");
		}
	close(fd);
	return 0;
}
