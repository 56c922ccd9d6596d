/* emitted - the messages that a server's state machine has sent to its workers since n was 0. */
#ifndef TESTS_LIB_EMITTED_H
#define TESTS_LIB_EMITTED_H

#include "wire/msg.h"

#include <string.h>

#define MOST	64

static struct msg out[MOST];
static uint32_t	  to[MOST], n;
__attribute__((unused)) static float payload[MOST][32];	/* of each that has no more */

static void
emit(void *arg, uint32_t worker, const struct msg *m)
{
	(void)arg;
	to[n] = worker;
	out[n] = *m;
	if (m->len > 0 && m->len <= sizeof(payload[n]))
		memcpy(payload[n], m->payload, m->len);
	n++;
}

#endif
