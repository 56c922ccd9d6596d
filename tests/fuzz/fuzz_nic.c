/* fuzz_nic - hostile netlink messages into the reader of interfaces. */
#include "watch/nic.h"

#include <assert.h>

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nic_link l;

	if (nic_parse(data, size, &l) == 0)
		assert(memchr(l.name, 0, sizeof(l.name)) != NULL && l.name[0] != 0);
	return 0;
}
