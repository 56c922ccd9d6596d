/* label - a label's text, in lists and in the JSON of webdatasets, from which the same bits are read. */
#include "source/label.h"
#include "base/num.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define NAN_BITS	0x7fc00000u	/* bits of the NaN that is written as nan */

static uint32_t
get_bits(float label)
{
	uint32_t bits;

	memcpy(&bits, &label, sizeof(bits));
	return bits;
}

static float
make_label(uint32_t bits)
{
	float label;

	memcpy(&label, &bits, sizeof(label));
	return label;
}

int
label_put(struct buf *text, float label)
{
	if (isnan(label) && get_bits(label) != NAN_BITS)
		return buf_put_fmt(text, "nan:%08" PRIx32, get_bits(label));
	if (!isfinite(label))
		return buf_put_fmt(text, "%s", isnan(label) ? "nan" : label > 0 ? "inf" : "-inf");
	if (label == 0 && signbit(label))
		return buf_put_fmt(text, "-0.0");	/* readers of JSON drop the sign of the integer -0 */
	return buf_put_fmt(text, "%.9g", (double)label);
}

int
label_parse(const char *text, float *label)
{
	static const struct {
		const char	*text;
		uint32_t	 bits;
	} special[] = { { "nan", NAN_BITS }, { "inf", 0x7f800000 }, { "-inf", 0xff800000 } };
	uint32_t bits;
	double v;
	int end = 0, e;

	for (size_t i = 0; i < sizeof(special) / sizeof(*special); i++)
		if (strcmp(text, special[i].text) == 0) {
			*label = make_label(special[i].bits);
			return 0;
		}
	if (sscanf(text, "nan:%8" SCNx32 "%n", &bits, &end) == 1 && end == 12 && text[end] == 0 &&
	    isnan(make_label(bits))) {
		*label = make_label(bits);
		return 0;
	}
	if ((e = num_f64(text, -LABEL_MOST, LABEL_MOST, &v)) == 0)
		*label = (float)v;
	return e;
}
