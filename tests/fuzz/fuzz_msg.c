/* fuzz_msg - any 40 bytes: a head that is taken is within its limits and gives the same bytes again. */
#include "wire/msg.h"

#include <stdlib.h>
#include <string.h>

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	uint8_t again[MSG_HEAD];
	struct msg m;

	for (; n >= MSG_HEAD; p += MSG_HEAD, n -= MSG_HEAD) {
		if (msg_parse(&m, p) < 0)
			continue;
		if (m.len > MSG_MOST || m.type == 0 || m.type >= MSG_TYPES || *msg_name(m.type) == 'u')
			abort();
		msg_head(&m, again);
		/* A signalling NaN may come back quiet. */
		if (memcmp(again, p, MSG_HEAD - 4) != 0 || (m.rate == m.rate && memcmp(again, p, MSG_HEAD) != 0))
			abort();
	}
	return 0;
}
