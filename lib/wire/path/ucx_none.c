/* ucx_none - the transport UCX in a build without the library's headers. */
#include "base/err.h"
#include "wire/path/ucx.h"

int
ucx_load(void)
{
	return err_fail(ERR_NOTSUP, "this build is without UCX: install libucx-dev, and build again");
}

int
ucx_new(int fd, struct ucx **u)
{
	(void)fd;
	*u = NULL;
	return ucx_load();
}

void
ucx_free(struct ucx *u)
{
	(void)u;
}

void
ucx_address(const struct ucx *u, const void **p, size_t *n)
{
	(void)u;
	*p = NULL;
	*n = 0;
}

int
ucx_connect(struct ucx *u, const void *address, size_t n)
{
	(void)u;
	(void)address;
	(void)n;
	return ucx_load();
}

bool
ucx_connected(const struct ucx *u)
{
	(void)u;
	return false;
}

void
ucx_end(struct ucx *u)
{
	(void)u;
}

int
ucx_fd(const struct ucx *u)
{
	(void)u;
	return -1;
}

void
ucx_look(struct ucx *u)
{
	(void)u;
}

bool
ucx_signalled(const struct ucx *u)
{
	(void)u;
	return false;
}

void
ucx_want(struct ucx *u, bool at_once)
{
	(void)u;
	(void)at_once;
}

void
ucx_allow(struct ucx *u, size_t bytes)
{
	(void)u;
	(void)bytes;
}

int
ucx_read(struct ucx *u, void *p, size_t n, bool stays, size_t *got)
{
	(void)u;
	(void)p;
	(void)n;
	(void)stays;
	*got = 0;
	return ucx_load();
}

bool
ucx_empty(const struct ucx *u)
{
	(void)u;
	return true;
}

int
ucx_send(struct ucx *u, struct queue *q)
{
	(void)u;
	(void)q;
	return ucx_load();
}

bool
ucx_delivered(const struct ucx *u)
{
	(void)u;
	return true;
}

void
ucx_byte_counts(const struct ucx *u, uint64_t *received, uint64_t *sent)
{
	(void)u;
	*received = *sent = 0;
}
