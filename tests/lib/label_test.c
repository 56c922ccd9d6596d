/* label_test - every bit of a label survives its text; other words are refused. */
#include "base/err.h"
#include "base/rng.h"
#include "source/label.h"
#include "tap.h"

/* The bits that are read from the text of a label. */
static uint32_t
round_trip(uint32_t bits, struct buf *text)
{
	uint32_t back = ~bits;
	float label;

	memcpy(&label, &bits, sizeof(label));
	text->n = 0;
	if (label_put(text, label) == 0 && buf_terminate(text) == 0 && label_parse((const char *)text->p, &label) == 0)
		memcpy(&back, &label, sizeof(back));
	return back;
}

int
main(void)
{
	static const struct { uint32_t bits; const char *text; } known[] = {
		{ 0x40400000, "3" }, { 0xbf800000, "-1" }, { 0, "0" }, { 0x80000000, "-0.0" }, { 0x3f000000, "0.5" },
		{ 0x7f7fffff, "3.40282347e+38" }, { 1, "1.40129846e-45" }, { 0x7f800000, "inf" }, { 0xff800000, "-inf" },
		{ 0x7fc00000, "nan" }, { 0xffc00000, "nan:ffc00000" }, { 0x7f800001, "nan:7f800001" },
	};
	static const char *const bad[] = { "", "cat", "NaN", "nan:7f800000", "nan:7fc0000", "nan:7fc000000", "infinity",
	    "0x10", "3.5e38", "1 ", " 1" };
	struct rng r = rng_start(1, 0, 0);
	struct buf text = { 0 };
	int same = 0;
	float label;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		is(round_trip(known[i].bits, &text), known[i].bits, "%s keeps its bits", known[i].text);
		is_str((const char *)text.p, known[i].text, "%s is written as this text", known[i].text);
	}
	for (int i = 0; i < 10000; i++) {
		uint32_t bits = (uint32_t)rng_below(&r, (uint64_t)1 << 32);

		same += round_trip(bits, &text) == bits;
	}
	is(same, 10000, "random bits are kept");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		ok(label_parse(bad[i], &label) < 0, "'%s' is refused", bad[i]);
	buf_free(&text);
	return done();
}
