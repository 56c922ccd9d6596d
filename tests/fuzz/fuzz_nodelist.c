/* fuzz_nodelist - any text as Slurm's list of hosts, with its counts of tasks: no crash, and what comes out is a hosts file. */
#include "run/launcher/hosts.h"
#include "run/launcher/nodelist.h"

#include <stdlib.h>

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	char *text = malloc(n + 1), *tasks;
	struct buf b = { 0 };
	struct hosts h;

	if (text == NULL)
		return 0;
	memcpy(text, p, n);
	text[n] = 0;
	if ((tasks = strchr(text, '\n')) != NULL)
		*tasks++ = 0;
	if (nodelist_hosts(text, tasks, &b) == 0 && hosts_parse("hosts", b.p, b.n, &h) == 0) {
		if (h.n > NODELIST_MOST)
			abort();
		hosts_free(&h);
	}
	buf_free(&b);
	free(text);
	return 0;
}
