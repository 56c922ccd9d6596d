/* dataset_msg - messages between a dataset server and its readers. */
#include "dataset/dataset_msg.h"
#include "base/buf.h"
#include "base/err.h"
#include "record/classes.h"

int
dataset_msg_holds(const struct msg *m, uint64_t *count, uint64_t *id)
{
	if (m->len != 8)
		return err_fail(ERR_FORMAT, "HOLDS of %u bytes", m->len);
	if (m->step > DATASET_MSG_COUNT)
		return err_fail(ERR_LIMIT, "%llu records, over the limit of %u", (unsigned long long)m->step,
		    DATASET_MSG_COUNT);
	*count = m->step;
	*id = le_get64(m->payload);
	return 0;
}

uint64_t
dataset_msg_asked(const struct msg *m, uint32_t k)
{
	return le_get64((const uint8_t *)m->payload + (size_t)k * 8);
}

int
dataset_msg_ask(const struct msg *m, uint64_t count, uint32_t *n)
{
	if (m->len == 0 || m->len % 8 != 0)
		return err_fail(ERR_FORMAT, "ASK of %u bytes", m->len);
	if ((*n = m->len / 8) > DATASET_MSG_ASKED)
		return err_fail(ERR_LIMIT, "ASK for %u records at once, over the limit of %u", *n, DATASET_MSG_ASKED);
	for (uint32_t k = 0; k < *n; k++)
		if (dataset_msg_asked(m, k) >= count)
			return err_fail(ERR_FORMAT, "ASK for record %llu of %llu",
			    (unsigned long long)dataset_msg_asked(m, k), (unsigned long long)count);
	return 0;
}

/* Checks a part of something that has at most so many bytes. */
static int
check_part(const struct msg *m, uint32_t most)
{
	if (m->samples > most)
		return err_fail(ERR_LIMIT, "longer than %u bytes", most);
	/* Only what has no bytes has an empty part: else a server could send empty parts for ever. */
	if (m->slice > m->samples || m->len > m->samples - m->slice || (m->len == 0 && m->samples > 0))
		return err_fail(ERR_FORMAT, "%u bytes at %u of %u", m->len, m->slice, m->samples);
	return 0;
}

int
dataset_msg_part(const struct msg *m)
{
	return err_wrap(check_part(m, DATASET_MSG_LONGEST), "record %llu", (unsigned long long)m->step);
}

/* Checks all names.  A message about them must not have bytes that a terminal would obey. */
static int
check_names(struct buf *text)
{
	struct names names = { 0 };
	int e = buf_terminate(text);

	if (e == 0 && !names_are_printable((const char *)text->p))
		e = err_fail(ERR_FORMAT, "has a control character, or is not UTF-8");
	if (e == 0)
		e = classes_parse(&names, text);
	names_free(&names);
	return e;
}

static int
add_names(const struct msg *m, struct buf *text)
{
	ERR_TRY(check_part(m, NAMES_BYTES));
	if (m->slice != text->n)
		return err_fail(ERR_FORMAT, "a part at %u after %zu bytes", m->slice, text->n);
	ERR_TRY(buf_put(text, m->payload, m->len));
	if (text->n < m->samples)
		return 0;
	ERR_TRY(check_names(text));
	return 1;
}

int
dataset_msg_classes(const struct msg *m, struct buf *text)
{
	return err_wrap(add_names(m, text), "CLASSES");
}
