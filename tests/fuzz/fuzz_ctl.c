/* fuzz_ctl - any bytes as what launcher and agent say after a connection was lost: what is taken can be said again. */
#include "run/ctl.h"

#include <stdlib.h>

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct ctl_resume r;
	struct ctl_state k;
	struct buf b = { 0 };

	if (ctl_get_resume(p, n, &r) == 0 && (ctl_put_resume(&b, &r) < 0 || b.n != n || memcmp(b.p, p, n) != 0))
		abort();
	b.n = 0;
	if (ctl_get_state(p, n, &k) == 0 && (ctl_put_state(&b, &k) < 0 || b.n != n || memcmp(b.p, p, n) != 0))
		abort();
	buf_free(&b);
	return 0;
}
