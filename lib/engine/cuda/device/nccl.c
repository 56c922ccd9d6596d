/* nccl - sums over the GPUs of one process by NCCL. */
#include "engine/cuda/device/nccl.h"

#include "base/err.h"

#include <dlfcn.h>
#include <stdlib.h>

/* From nccl.h: handles are pointers, enumerations int. */
enum { OK = 0, SUM = 0, FLOAT = 7 };

struct nccl {
	const struct cuda_host *host;
	struct device *const *d;
	uint32_t n;
	int	 version;
	void	**comm;		/* [n] */
	int	 (*get_version)(int *version);
	const char *(*get_error)(int result);
	int	 (*init_all)(void **comm, int n, const int *device);
	int	 (*destroy)(void *comm);
	int	 (*abort)(void *comm);
	int	 (*start)(void);
	int	 (*end)(void);
	int	 (*reduce)(const void *from, void *to, size_t count, int type, int op, int root, void *comm,
	    void *stream);
	int	 (*all_reduce)(const void *from, void *to, size_t count, int type, int op, void *comm, void *stream);
};

static int
nccl_ok(const struct nccl *c, int result, const char *what)
{
	if (result == OK)
		return 0;
	c->host->note(0, "NCCL: %s: %s", what, c->get_error(result));
	return ERR_SYS;
}

/* The library stays open, because it leaves threads behind. */
static int
load_nccl(struct nccl *c)
{
	void *so = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
	const struct {
		const char *name;
		void *to;
	} calls[] = {
		{ "ncclGetVersion", &c->get_version }, { "ncclGetErrorString", &c->get_error },
		{ "ncclCommInitAll", &c->init_all }, { "ncclCommDestroy", &c->destroy },
		{ "ncclCommAbort", &c->abort }, { "ncclGroupStart", &c->start }, { "ncclGroupEnd", &c->end },
		{ "ncclReduce", &c->reduce }, { "ncclAllReduce", &c->all_reduce },
	};

	if (so == NULL) {
		c->host->note(0, "no NCCL: %s", dlerror());
		return ERR_NOTSUP;
	}
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if ((*(void **)calls[i].to = dlsym(so, calls[i].name)) == NULL) {
			c->host->note(0, "no NCCL: libnccl.so.2 has no %s", calls[i].name);
			return ERR_NOTSUP;
		}
	return nccl_ok(c, c->get_version(&c->version), "its version");
}

static int
start_nccl(struct nccl *c)
{
	int *number = calloc(c->n, sizeof(*number)), e;

	c->comm = calloc(c->n, sizeof(*c->comm));
	if (number == NULL || c->comm == NULL) {
		free(number);
		return device_nomem(c->host);
	}
	for (uint32_t k = 0; k < c->n; k++)
		number[k] = device_number(c->d[k]);
	if ((e = load_nccl(c)) == 0 && (e = nccl_ok(c, c->init_all(c->comm, (int)c->n, number), "its start")) < 0) {
		free(c->comm);	/* its elements are undefined */
		c->comm = NULL;
	}
	free(number);
	return e;
}

int
nccl_open(const struct cuda_host *host, struct device *const *d, uint32_t n, struct nccl **c)
{
	int e;

	if ((*c = calloc(1, sizeof(**c))) == NULL)
		return device_nomem(host);
	(*c)->host = host;
	(*c)->d = d;
	(*c)->n = n;
	if ((e = start_nccl(*c)) < 0) {
		nccl_close(*c);
		*c = NULL;
	}
	return e;
}

void
nccl_close(struct nccl *c)
{
	if (c == NULL)
		return;
	for (uint32_t k = 0; c->comm != NULL && k < c->n; k++)
		if (c->comm[k] != NULL)
			c->destroy(c->comm[k]);
	free(c->comm);
	free(c);
}

/* 22809 is 2.28.9; versions before 2.9 had a digit less. */
void
nccl_version(const struct nccl *c, unsigned v[3])
{
	unsigned all = (unsigned)c->version, base = all < 10000 ? 1000 : 10000;

	v[0] = all / base;
	v[1] = all % base / 100;
	v[2] = all % 100;
}

int
nccl_sum(struct nccl *c, float *const *g, size_t count, bool all)
{
	int e = nccl_ok(c, c->start(), "a group"), ended;

	if (e < 0)
		return e;
	for (uint32_t k = 0; k < c->n && e == 0; k++) {
		void *stream = device_stream(c->d[k], DEVICE_DOWNLOAD);

		e = nccl_ok(c, all ? c->all_reduce(g[k], g[k], count, FLOAT, SUM, c->comm[k], stream) :
		    c->reduce(g[k], g[k], count, FLOAT, SUM, 0, c->comm[k], stream), "a sum");
	}
	/* An open group must be ended, or the next one becomes part of it. */
	ended = c->end();
	return e < 0 ? e : nccl_ok(c, ended, "a sum");
}

/* Frees the communicators too.  A GPU that is lost makes the library report errors, which add nothing. */
void
nccl_abort(struct nccl *c)
{
	for (uint32_t k = 0; k < c->n; k++) {
		if (c->comm[k] != NULL)
			c->abort(c->comm[k]);
		c->comm[k] = NULL;
	}
}
