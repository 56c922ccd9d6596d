/* conn_ucx - UCX between two processes: serves conn. */
#include "wire/conn_in.h"

#include "base/err.h"

static int
send_address(struct conn *c)
{
	const void *p;
	size_t n;

	conn_ucx()->address(c->ucx_next, &p, &n);
	return conn_path_tell(c, MSG_UCX, true, p, n);
}

int
conn_ucx_offer(struct conn *c)
{
	ERR_TRY(conn_ucx()->open(c->fd, &c->ucx_next));
	return send_address(c);
}

int
conn_ucx_take_offer(struct conn *c, const struct msg *m)
{
	ERR_TRY(conn_ucx()->open(c->fd, &c->ucx_next));
	ERR_TRY(conn_ucx()->connect(c->ucx_next, m->payload, m->len));
	return send_address(c);
}

int
conn_ucx_take_answer(struct conn *c, const struct msg *m)
{
	return conn_ucx()->connect(c->ucx_next, m->payload, m->len);
}
