/* wire_in - what the files of wire share: a connection. */
#ifndef TESTS_LAW_SIM_WIRE_IN_H
#define TESTS_LAW_SIM_WIRE_IN_H

#include "law/sim/sim.h"
#include "law/sim/wire.h"

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
	unsigned	 syns;		/* attempts that follow; with none it fails at open_at */
	struct end	 end[2];	/* the one that connects, and the one that accepts */
	uint64_t	 stalled_at, recovers_at;	/* from a cut until the system has tried again after it */
	uint16_t	 port;
	uint64_t	 due;		/* when it is next in the heap; SIM_NEVER: it is not */
};

struct wire_host {
	uint32_t	 machine;
	bool		 listens;
	unsigned	 waiting;	/* connections that are not accepted yet */
	uint64_t	 sends_at, receives_at;	/* when its link is free; with a speed */
};

/* From one host to another. */
struct wire_way {
	uint64_t	 down;		/* until when nothing arrives */
	bool		 refuses;
};

/* A connection has something to do at a time. */
struct wire_due {
	uint64_t	 at;
	struct wire	*wire;
};

struct wires {
	struct wire	*all;
	unsigned	 n, hosts;	/* in all; of hosts */
	struct wire_host *host;
	struct wire_way	*way;		/* [from][to] */
	struct wire_due	*due;		/* a heap, the next one first */
	size_t		 ndue, room;
	struct wire_speed speed;	/* bits_s 0: none */
	uint64_t	 latency;
	uint16_t	 port;
};

extern struct wires wires;

uint64_t wire_draw(uint64_t n);		/* below n */
uint64_t wire_arrival(void);		/* when a few bytes that are sent now arrive */
struct wire_way *wire_way(uint32_t from, uint32_t to);
/* When n bytes have arrived, of links that have a speed. */
uint64_t wire_pass(uint32_t from, uint32_t to, size_t n);
/* wire_due.c: a connection has something to do at a time.  What it was to do later stays in the heap, and is skipped. */
void	 wire_due_add(struct wire *w, uint64_t at);
/* Takes the next connection that has something to do now, or NULL. */
struct wire *wire_due_take(void);
/* The end will find its connection broken. */
void	 wire_fail(struct wire *w, unsigned side, int err, uint64_t at);
/* Loses some of the last bytes that have not arrived, and what follows. */
void	 wire_lose(struct stream *s);

#endif
