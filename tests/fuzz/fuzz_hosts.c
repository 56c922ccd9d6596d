/* fuzz_hosts - any text as a hosts file: no crash, and what is taken is fit for a command line. */
#include "run/launcher/hosts.h"

#include <stdlib.h>

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct hosts h;

	if (hosts_parse("hosts", p, n, &h) < 0)
		return 0;
	if (h.n == 0 || h.n > HOSTS_MOST || h.places < h.n)
		abort();
	for (uint32_t i = 0; i < h.n; i++)
		if (h.host[i].login[0] == '-' || h.host[i].name[0] == '-' || h.host[i].name[0] == 0)
			abort();
	if (hosts_place(&h, h.places + 3) >= h.n)
		abort();
	hosts_free(&h);
	return 0;
}
