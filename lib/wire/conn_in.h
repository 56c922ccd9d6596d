/* conn_in - what the files of conn share. */
#ifndef WIRE_CONN_IN_H
#define WIRE_CONN_IN_H

#include "base/buf.h"
#include "base/err.h"
#include "wire/addr.h"
#include "wire/conn.h"
#include "wire/path/loan.h"
#include "wire/plain.h"
#include "wire/path/shm.h"
#include "wire/tls.h"
#include "wire/path/ucx.h"

/* Most bytes each way in one conn_run(), so that no peer delays the others. */
#define CONN_BURST	(1u << 20)

/* How far two ends are who agree on another path for their messages than the socket: shared memory, or UCX. */
enum conn_path {
	CONN_PATH_NONE,		/* nothing is offered, or accepted */
	CONN_PATH_MAY,		/* the first message may be an offer */
	CONN_PATH_OFFERED,	/* this end waits for the answer */
	CONN_PATH_ACCEPTED,	/* this end waits for the peer to take the path */
};

struct conn {
	int		 fd;
	struct tls	*tls;		/* with a key, else NULL */
	struct plain	*plain;		/* without one, else NULL */
	bool		 server, open;
	enum conn_path	 path_state;
	bool		 wants_ucx;	/* the path is UCX, and not shared memory */
	struct queue	 control;	/* messages about the path, which precede `out` */
	bool		 held;		/* `out` waits until it is known how it is sent */
	size_t		 shm_ring;	/* bytes of a ring that this end would make */
	int		 shm_listener;	/* descriptor of an offer; -1: none */
	uint8_t		 shm_offer[SHM_OFFER];
	struct shm	*shm_next;	/* agreed, and not yet in use */
	struct shm	*shm;		/* in use: the socket carries nothing more; NULL: none */
	struct ucx	*ucx_next, *ucx;
	struct loan	 lends;		/* the caller's memory that is lent to the peer; p NULL: none */
	bool		 lent;		/* the peer has it */
	size_t		 borrows;	/* most bytes that the peer may lend */
	uint64_t	 lent_bytes[2];	/* bytes of payloads received and sent by their place alone */
	char		 peer[ADDR_TEXT];
	double		 since;
	double		 silence;	/* limit set by conn_set_silence() */
	double		 look_at;	/* the next look at its silence */
	unsigned	 attempts;	/* those of the system that the peer's host had not answered at the last look */
	double		 silent_since, tried;	/* when the first and the last of them were seen */
	bool		 unanswered, carries;	/* conn_unanswered(), conn_carries() */
	struct queue	 out;
	struct buf	 in;
	size_t		 at;		/* offset in `in` of the next message for the caller */
	size_t		 whole;		/* the messages before this offset are complete and their headers checked */
	conn_place_fn	*place;
	void		*place_arg;
	/* The payload of the last message in `in`, of which it has the header alone; NULL: it is in `in`. */
	uint8_t		*placed;
	size_t		 left;		/* bytes of it not yet received; not in `whole` while there are any */
	size_t		 placed_len;
	int		 ended;		/* with another path: the error of the socket, or 0; the path may have bytes */
	int		 broken;	/* the error that ended the connection, or 0 */
	char		 why[ERR_LINE];	/* its line, or that of `ended` */
};

/* conn_socket.c: TLS, or what is there in its place, on the socket; see wire/tls.h. */
int	 conn_socket_shake(struct conn *c);
void	 conn_socket_allow(struct conn *c, size_t bytes);
int	 conn_socket_read(struct conn *c, void *p, size_t n, size_t *got);
/* Writes and drops the first bytes of q, at most CONN_BURST, or all if the peer has gone. */
int	 conn_socket_write(struct conn *c, struct queue *q);
void	 conn_socket_byte_counts(const struct conn *c, uint64_t *received, uint64_t *sent);
size_t	 conn_socket_held(const struct conn *c);
int	 conn_socket_down(const struct conn *c);	/* as tls_down() */
bool	 conn_socket_wants_out(const struct conn *c);

/*
 * conn_silence.c: looks whether the peer's host answers, about twice a second.  Returns 0 or ERR_PEER.  Until it is
 * open a connection ends after a few seconds, as its owner tries again sooner than the system does.
 */
int	 conn_silence_look(struct conn *c);

/* conn_path.c: queues a message about the path.  Returns 0 or ERR_NOMEM. */
int	 conn_path_tell(struct conn *c, enum msg_type type, bool yes, const void *payload, size_t len);
/* Offers the path that this end would use.  Returns 0 or ERR_NOMEM. */
int	 conn_path_offer(struct conn *c);
/* Handles a message about it.  Returns 0, ERR_FORMAT if it has no place here, or ERR_NOMEM. */
int	 conn_path_handle(struct conn *c, const struct msg *m);
/* The peer's first message was no offer, or there will be no other path: the socket carries what was held. */
void	 conn_path_decline(struct conn *c);
/* Both ends have it: it is used from now on. */
void	 conn_path_begin(struct conn *c);
bool	 conn_path_agreed(const struct conn *c);	/* this end has it, and conn_path_begin() is next */
/* Of the path in use, if conn_path_used(): see wire/path/shm.h and wire/path/ucx.h. */
bool	 conn_path_used(const struct conn *c);
int	 conn_path_fd(const struct conn *c);
void	 conn_path_look(struct conn *c);	/* takes the peer's signals, and notes its end */
void	 conn_path_allow(struct conn *c, size_t bytes);
int	 conn_path_read(struct conn *c, void *p, size_t n, size_t least, bool stays, size_t *got);
bool	 conn_path_empty(const struct conn *c);
int	 conn_path_send(struct conn *c);
void	 conn_path_want(struct conn *c, bool at_once);
void	 conn_path_byte_counts(const struct conn *c, uint64_t *received, uint64_t *sent);
void	 conn_path_drop(struct conn *c);	/* drops `out`, wherever it is */
void	 conn_path_free(struct conn *c);

/* conn_shm.c: offers shared memory.  Returns 0, or an error where there is none. */
int	 conn_shm_offer(struct conn *c);
/* Handles an offer, or the answer to one. */
int	 conn_shm_take_offer(struct conn *c, const struct msg *m);
int	 conn_shm_take_answer(struct conn *c);
void	 conn_shm_close_listener(struct conn *c);
/* Whether the payload of m is sent by its place in the memory that is lent. */
bool	 conn_shm_lends(struct conn *c, const struct msg *m);
/*
 * Finds the payload of m, whose offset is at p, in the memory that the peer lends.  Returns 0, ERR_SYS, ERR_LIMIT or
 * ERR_FORMAT.
 */
int	 conn_shm_borrow(struct conn *c, struct msg *m, const uint8_t *p);

/* conn_path.c: NULL in a build without UCX, in which no connection is asked to use it. */
const struct ucx_calls *conn_ucx(void);
/* conn_ucx.c: the same for UCX.  Messages are of type MSG_UCX, with the address of a worker. */
int	 conn_ucx_offer(struct conn *c);
int	 conn_ucx_take_offer(struct conn *c, const struct msg *m);
int	 conn_ucx_take_answer(struct conn *c, const struct msg *m);

#endif
