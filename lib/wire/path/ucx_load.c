/* ucx_load - loads the UCX library: serves ucx. */
#include "wire/path/ucx_in.h"

#include "base/err.h"
#include "base/so.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ucx_library ucx_library;

static int result;		/* what load_library() returned */
static char why[ERR_LINE];

int
ucx_fail(int otherwise, const char *what, ucs_status_t s)
{
	if (s == UCS_ERR_NO_MEMORY)
		return err_nomem();
	return err_fail(otherwise, "UCX: %s: %s", what, ucx_library.status_string(s));
}

bool
ucx_has_network(void)
{
	static const char *const local[] = { "sm", "shm", "posix", "sysv", "cma", "xpmem", "knem", "self" };
	const char *p = getenv("UCX_TLS");
	bool known = true;
	size_t n;

	if (p == NULL || *p == 0)
		return true;
	for (; *p != 0 && known; p += n + (p[n] != 0)) {
		n = strcspn(p, ",");
		known = false;
		for (size_t i = 0; i < sizeof(local) / sizeof(*local); i++)
			known |= strlen(local[i]) == n && memcmp(p, local[i], n) == 0;
	}
	return !known;
}

static int
load_library(void)
{
	static const char *const names[] = { "libucp.so.0", NULL };
	static const struct so_symbol symbols[] = {
#define X(result, name, arguments) { "ucp_" #name, &ucx_library.name, false },
		UCX_CALLS(X)
#undef X
		{ "ucs_status_string", &ucx_library.status_string, false },
	};
	const ucp_params_t p = { .field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED,
		.features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP, .mt_workers_shared = 1 };
	ucs_status_t s;

	/* Standard output is a job's log, errors are reported by the caller, and a signal is handled by the tool. */
	setenv("UCX_LOG_FILE", "stderr", 0);
	setenv("UCX_LOG_LEVEL", "error", 0);
	setenv("UCX_HANDLE_ERRORS", "none", 0);
	/* Parts of this size wait at the sender, and are not copied.  UCX 1.18 would copy even 1 MiB over TCP. */
	setenv("UCX_RNDV_THRESH", "65536", 0);
	if (so_load(names, symbols, sizeof(symbols) / sizeof(*symbols)) < 0)
		return err_fail(ERR_NOTSUP, "UCX: %s: install libucx0", err_line());
	s = ucx_library.init_version(UCP_API_MAJOR, UCP_API_MINOR, &p, NULL, &ucx_library.context);
	return s == UCS_OK ? 0 : ucx_fail(ERR_NOTSUP, "it does not start", s);
}

static void
load_once(void)
{
	if ((result = load_library()) < 0)
		snprintf(why, sizeof(why), "%s", err_line());
}

int
ucx_load(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load_once);
	return result < 0 ? err_fail(result, "%s", why) : 0;
}
