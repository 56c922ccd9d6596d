/* table_test - one table as text, Markdown, TSV, JSON and HTML. */
#include "log/table.h"
#include "tap.h"

static const char *
form(const struct table *t, int f, struct buf *out)
{
	out->n = 0;
	if ((f == TABLE_FORMS ? table_html(t, out) : table_put(t, (enum table_form)f, out)) < 0 || buf_terminate(out) < 0)
		return "(no memory)";
	return (char *)out->p;
}

int
main(void)
{
	struct table t = { 0 };
	struct buf out = { 0 };

	table_column(&t, "run", "run", false);
	table_column(&t, "rx", "rx_bytes", true);
	ok(table_cell(&t, "a \"b\"\n<c>", NULL) == 0 && table_cell(&t, "1.00 KiB", "1024") == 0, "a row");
	ok(table_cell(&t, "\xc3\xa9", NULL) == 0 && table_cell(&t, NULL, "7") == 0, "another");
	ok(table_cell(&t, "d", NULL) == 0 && table_cell(&t, "nan", "nan") == 0, "one without a number");
	is_str(form(&t, TABLE_TEXT, &out),
	    "run              rx\n"
	    "a \"b\" <c>  1.00 KiB\n"
	    "\xc3\xa9                 -\n"
	    "d               nan\n", "text");
	is_str(form(&t, TABLE_MARKDOWN, &out),
	    "| run       |       rx |\n"
	    "| --------- | -------: |\n"
	    "| a \"b\" <c> | 1.00 KiB |\n"
	    "| \xc3\xa9         |        - |\n"
	    "| d         |      nan |\n", "Markdown");
	is_str(form(&t, TABLE_TSV, &out), "run\trx_bytes\na \"b\" <c>\t1024\n\xc3\xa9\t\nd\tnan\n", "TSV");
	is_str(form(&t, TABLE_JSON, &out),
	    "[{\"run\":\"a \\\"b\\\" <c>\",\"rx_bytes\":1024},\n "
	    "{\"run\":\"\xc3\xa9\"},\n {\"run\":\"d\",\"rx_bytes\":\"nan\"}]\n", "JSON");
	is_str(form(&t, TABLE_FORMS, &out),
	    "<table>\n<tr><th>run</th><th class=\"n\">rx</th></tr>\n"
	    "<tr><td>a &quot;b&quot; &lt;c&gt;</td><td class=\"n\">1.00 KiB</td></tr>\n"
	    "<tr><td>\xc3\xa9</td><td class=\"n\"></td></tr>\n<tr><td>d</td><td class=\"n\">nan</td></tr>\n</table>\n", "HTML");
	ok(table_form("json") == TABLE_JSON && table_form("xml") == TABLE_FORMS, "forms by name");
	table_free(&t);
	table_column(&t, "none", "none", true);
	is_str(form(&t, TABLE_JSON, &out), "[]\n", "an empty one");
	table_free(&t);
	buf_free(&out);
	return done();
}
