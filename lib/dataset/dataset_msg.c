/* dataset_msg - messages between a dataset server and its readers. */
#include "dataset/dataset_msg.h"
#include "base/buf.h"
#include "base/err.h"

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

int
dataset_msg_part(const struct msg *m)
{
	if (m->samples > DATASET_MSG_LONGEST)
		return err_fail(ERR_LIMIT, "record %llu: longer than %u bytes", (unsigned long long)m->step,
		    DATASET_MSG_LONGEST);
	/* Only a record of no bytes has an empty part: else a server could send empty parts for ever. */
	if (m->slice > m->samples || m->len > m->samples - m->slice || (m->len == 0 && m->samples > 0))
		return err_fail(ERR_FORMAT, "record %llu: %u bytes at %u of %u", (unsigned long long)m->step, m->len,
		    m->slice, m->samples);
	return 0;
}
