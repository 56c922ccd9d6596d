/* fuzz_rendezvous - any bytes as what a server or worker says to a scheduler: no crash, and an address is one. */
#include "run/rendezvous/rendezvous.h"

#include <stdlib.h>
#include <string.h>

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	char host[ADDR_TEXT], port[8];
	struct rendezvous_message w;

	if (rendezvous_parse(p, n, &w) == 0 && !w.join && (addr_split(w.at, host, port) < 0 || strchr(w.at, ',') != NULL))
		abort();
	return 0;
}
