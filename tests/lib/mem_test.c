/* mem_test - is what is said to be left about what the machine has? */
#include "tap.h"

#include "base/err.h"
#include "base/mem.h"

#include <unistd.h>

int
main(void)
{
	uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE), left = mem_available();

	if (left == UINT64_MAX) {
		skip("memory", "nothing here says how much is left");
		return done();
	}
	ok(left > 0 && left <= machine, "%llu MB of %llu", (unsigned long long)left >> 20, (unsigned long long)machine >> 20);
	is(mem_fits(left / 2), 0, "half of it fits");
	is(mem_fits(machine + (1u << 30)), ERR_NOMEM, "more than the machine has: %s", err_line());
	return done();
}
