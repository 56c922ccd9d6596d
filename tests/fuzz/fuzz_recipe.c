/* fuzz_recipe - any text as a recipe: no crash, and each word has its line and is no other recipe. */
#include "run/recipe.h"

#include <stdlib.h>

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static const char *const tools[] = { "dlaunch", "pworker" };
	struct recipe r;

	for (int i = 0; i < 2; i++) {
		if (recipe_parse("recipe", p, n, tools[i], &r) < 0)
			continue;
		if (r.words.n > RECIPE_WORDS)
			abort();
		for (size_t w = 0; w < r.words.n; w++)
			if (r.line[w] == 0 || r.line[w] > n + 1 || r.words.v[w][0] == '@')
				abort();
		recipe_free(&r);
	}
	return 0;
}
