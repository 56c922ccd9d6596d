/* seeds - which seeds a test of tests/law runs. */
#include "law/seeds.h"

#include "base/num.h"
#include "law/draw.h"

#include <string.h>

bool
seeds_parse(int argc, char **argv, struct seeds *s)
{
	char *to;

	*s = (struct seeds){ .trace = argc == 3 && strcmp(argv[1], "--seed") == 0 };
	if (argc == 1)
		return true;
	if (s->trace && num_u64(argv[2], 1, UINT64_MAX, &s->from) == 0) {
		s->to = s->from;
		return true;
	}
	if (argc != 3 || strcmp(argv[1], "--seeds") != 0 || (to = strchr(argv[2], '-')) == NULL)
		return false;
	*to++ = 0;
	return num_u64(argv[2], 1, UINT64_MAX, &s->from) == 0 && num_u64(to, s->from, UINT64_MAX, &s->to) == 0;
}

struct seeds
seeds_or(const struct seeds *s, unsigned usual)
{
	return s->to > 0 ? *s : (struct seeds){ 1, world_jobs(usual), false };
}

uint64_t
seeds_count(const struct seeds *s)
{
	return s->to - s->from + 1;
}
