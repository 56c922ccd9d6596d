/* wire_in - what the files of wire share: a connection. */
#ifndef TESTS_LAW_SIM_WIRE_IN_H
#define TESTS_LAW_SIM_WIRE_IN_H

#include "law/sim/sim.h"
#include "law/sim/wire.h"

#define WIRES		192
#define SEGMENTS	48

/* One way of a connection. */
struct stream {
	uint8_t		*p;
	size_t		 cap, room;	/* bytes that it takes; allocated */
	size_t		 head, n;	/* offset of the first byte that is not read, and bytes from there */
	size_t		 ready;		/* those that have arrived */
	struct { size_t n; uint64_t at; } seg[SEGMENTS];	/* those that have not */
	unsigned	 nseg;
	bool		 fin, over;	/* the sender has ended it, and this has arrived */
	bool		 lost;		/* bytes were lost, and so are all that follow */
	uint64_t	 fin_at;
};

struct end {
	bool		 closed, shut;
	uint32_t	 host;
	int		 err, err_next;	/* errno of a broken connection; what arrives at err_at */
	uint64_t	 err_at;
	struct stream	 in;
	size_t		 held;		/* bytes sent that have arrived, which this end does not know until held_until */
	uint64_t	 held_until;
	uint64_t	 idle, rto_max;	/* options of the socket */
};

struct wire {
	bool		 used, open, accepted;
	uint64_t	 open_at, syn;	/* the next attempt to connect, and the time to the one after it */
	struct end	 end[2];	/* the one that connects, and the one that accepts */
	uint64_t	 stalled_at, recovers_at;	/* from a cut until the system has tried again after it */
	uint16_t	 port;
};

struct wires {
	struct wire	 all[WIRES];
	uint32_t	 machine[WIRE_HOSTS];
	bool		 listens[WIRE_HOSTS];
	unsigned	 waiting[WIRE_HOSTS];	/* connections that are not accepted yet */
	uint64_t	 down[WIRE_HOSTS][WIRE_HOSTS];	/* [from][to] until when nothing arrives */
	bool		 refuses[WIRE_HOSTS][WIRE_HOSTS];
	uint64_t	 due;		/* nothing arrives before */
	uint64_t	 latency;
	uint16_t	 port;
};

extern struct wires wires;

uint64_t wire_draw(uint64_t n);		/* below n */
uint64_t wire_arrival(void);		/* when what is sent now arrives */
/* The end will find its connection broken. */
void	 wire_fail(struct wire *w, unsigned side, int err, uint64_t at);
/* Loses some of the last bytes that have not arrived, and what follows. */
void	 wire_lose(struct stream *s);

#endif
