/*
 * wire - the connections between simulated hosts, and what can happen to them: serves sim.
 *
 * A connection has a stream of bytes each way, which the systems of the hosts keep: they arrive later, in pieces, in
 * order, and a stream has room for few of them.  The peer of a process that is killed gets what it had sent, or a part
 * of it, and then the end.  What a cut holds up arrives when the system tries again after it, as with TCP.  A host
 * listens at one port while its listener is open, no matter whether a process accepts.
 *
 * Calls return a result, or a negative errno.  A side is 0, the end that connects, or 1.
 */
#ifndef TESTS_LAW_SIM_WIRE_H
#define TESTS_LAW_SIM_WIRE_H

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct wire;

/* For sim_reserve(). */
void	 wire_reserve(unsigned hosts, unsigned wires);
void	 wire_begin(void);
void	 wire_end(void);
/* All that is due arrives.  The time at which the next thing does, or SIM_NEVER. */
void	 wire_deliver(void);
uint64_t wire_next(void);

/* A host is on a machine, with others: its listener is "10.0.0.MACHINE:PORT", with WIRE_PORT + host. */
#define WIRE_PORT	7000
void	 wire_place(uint32_t host, uint32_t machine);
uint32_t wire_machine(uint32_t host);
bool	 wire_together(uint32_t a, uint32_t b);	/* on one machine */
/*
 * Links have a speed: each host sends and receives bytes one after another, with `latency` nanoseconds between two hosts
 * and without loss.  A process spends `byte_ns` for each byte that it sends or receives.
 */
struct wire_speed {
	double		 bits_s;	/* of a host, in each direction; with headers of Ethernet, IP and TCP */
	uint64_t	 latency;
	double		 byte_ns;
};

/* Bytes of Ethernet for a full segment, with preamble and gap, to those of data in it. */
#define WIRE_OVERHEAD (1538.0 / 1448.0)

void	 wire_limit(const struct wire_speed *speed);
/* Opens and closes the listener of a host. */
void	 wire_listen(uint32_t host);
void	 wire_unlisten(uint32_t host);
/* Until a time nothing arrives on `to` from `from`.  refuses: attempts to connect fail, or else they wait. */
void	 wire_cut(uint32_t from, uint32_t to, uint64_t until, bool refuses);
/* Breaks a connection for both ends.  Returns false if there is none. */
bool	 wire_break(void);

/* For net.c. */
/* An attempt that is not answered is repeated `syns` times, at pauses that double, and then fails. */
#define WIRE_SYNS 6	/* usually */
struct wire *wire_connect(uint32_t from, const struct sockaddr_in *to, unsigned syns);
/* A connection that has arrived at a host and waits for accept4(), or NULL. */
struct wire *wire_waiting(uint32_t host);
void	 wire_accept(struct wire *w);
short	 wire_ready(const struct wire *w, unsigned side, short events);
int	 wire_receive(struct wire *w, unsigned side, void *p, size_t n);
int	 wire_send(struct wire *w, unsigned side, const struct iovec *v, size_t n);
int	 wire_shutdown(struct wire *w, unsigned side);
void	 wire_close(struct wire *w, unsigned side);
int	 wire_peer(const struct wire *w, unsigned side, struct sockaddr_in *peer);
void	 wire_tcp_info(const struct wire *w, unsigned side, struct tcp_info *t);
void	 wire_set_option(struct wire *w, unsigned side, int level, int option, int v);

#endif
