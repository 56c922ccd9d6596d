/* ucx_in - the calls of the UCX library, which is loaded at run time: what the files of ucx share. */
#ifndef WIRE_PATH_UCX_IN_H
#define WIRE_PATH_UCX_IN_H

#include "wire/path/ucx.h"

#include <ucp/api/ucp.h>

/* X(result, name, arguments) */
#define UCX_CALLS(X) \
	X(ucs_status_t, init_version, \
	    (unsigned, unsigned, const ucp_params_t *, const ucp_config_t *, ucp_context_h *)) \
	X(ucs_status_t, worker_create, (ucp_context_h, const ucp_worker_params_t *, ucp_worker_h *)) \
	X(void, worker_destroy, (ucp_worker_h)) \
	X(ucs_status_t, worker_get_address, (ucp_worker_h, ucp_address_t **, size_t *)) \
	X(void, worker_release_address, (ucp_worker_h, ucp_address_t *)) \
	X(ucs_status_t, worker_get_efd, (ucp_worker_h, int *)) \
	X(ucs_status_t, worker_arm, (ucp_worker_h)) \
	X(unsigned, worker_progress, (ucp_worker_h)) \
	X(ucs_status_t, ep_create, (ucp_worker_h, const ucp_ep_params_t *, ucp_ep_h *)) \
	X(ucs_status_ptr_t, ep_close_nbx, (ucp_ep_h, const ucp_request_param_t *)) \
	X(ucs_status_ptr_t, ep_flush_nbx, (ucp_ep_h, const ucp_request_param_t *)) \
	X(ucs_status_ptr_t, tag_send_nbx, (ucp_ep_h, const void *, size_t, ucp_tag_t, const ucp_request_param_t *)) \
	X(ucs_status_ptr_t, tag_send_sync_nbx, \
	    (ucp_ep_h, const void *, size_t, ucp_tag_t, const ucp_request_param_t *)) \
	X(ucp_tag_message_h, tag_probe_nb, (ucp_worker_h, ucp_tag_t, ucp_tag_t, int, ucp_tag_recv_info_t *)) \
	X(ucs_status_ptr_t, tag_msg_recv_nbx, \
	    (ucp_worker_h, void *, size_t, ucp_tag_message_h, const ucp_request_param_t *)) \
	X(ucs_status_t, request_check_status, (void *)) \
	X(void, request_free, (void *))

struct ucx_library {
#define X(result, name, arguments) result (*name) arguments;
	UCX_CALLS(X)
#undef X
	const char *(*status_string)(ucs_status_t);
	ucp_context_h	 context;
};

/* ucx_load.c: loads it, see struct ucx_calls. */
int	 ucx_load(void);
/* What ucx_load() has loaded. */
extern struct ucx_library ucx_library;

/*
 * Whether UCX_TLS leaves a transport that can leave the host.  The library's shared memory does not report that a peer
 * has failed, and cannot be used if that is asked for.
 */
bool	 ucx_has_network(void);

/* ERR_NOMEM or `otherwise`, with a line that says what failed and why. */
int	 ucx_fail(int otherwise, const char *what, ucs_status_t s);

#endif
