/* table_test - a table as text, Markdown, TSV, JSON and HTML. */
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

/* A table as it is fitted into so many columns. */
static void
fit(void)
{
	struct table t = { 0 };
	struct buf out = { 0 };

	table_column(&t, (struct table_column){ "run", "run", false, 0, 0, NULL });
	table_column(&t, (struct table_column){ "accuracy of all", "accuracy", true, 2, 1, "acc" });
	table_column(&t, (struct table_column){ "loss", "loss", true, 2, 3, NULL });
	table_column(&t, (struct table_column){ "rx", "rx_bytes", true, TABLE_BYTES, 2, NULL });
	table_text(&t, "a n\xc3\xa4me of thirty-six characters, one");
	table_number(&t, 0.5);
	table_number(&t, 2);
	table_number(&t, 2048);
	is(table_fit(&t, 60), 0, "a table of 60 columns fits");
	is_str(form(&t, TABLE_TEXT, &out), "run                                    acc  loss        rx\n"
	    "a n\xc3\xa4me of thirty-six characters, one  0.50  2.00  2.00 KiB\n", "names are complete if they fit");
	is(table_fit(&t, 50), 0, "the table fits into 50 columns");
	is_str(form(&t, TABLE_TEXT, &out), "run                            acc  loss        rx\n"
	    "a n\xc3\xa4me of thi..aracters, one  0.50  2.00  2.00 KiB\n", "a name is shortened in the middle");
	is(table_fit(&t, 45), 1, "a column is omitted in 45");
	is_str(form(&t, TABLE_TEXT, &out), "run                            acc        rx\n"
	    "a n\xc3\xa4me of thi..aracters, one  0.50  2.00 KiB\n", "the least important column is omitted");
	is(table_fit(&t, 10), 3, "three columns are omitted in 10");
	is_str(form(&t, TABLE_TEXT, &out), "run\na n\xc3\xa4me of thi..aracters, one\n", "the first column stays");
	is_str(form(&t, TABLE_CSV, &out), "run,accuracy,loss,rx_bytes\n"
	    "\"a n\xc3\xa4me of thirty-six characters, one\",0.5,2,2048\n", "CSV has all columns, and quotes a comma");
	table_free(&t);
	buf_free(&out);
}

int
main(void)
{
	struct table t = { 0 };
	struct buf out = { 0 };

	table_column(&t, (struct table_column){ "run", "run", false, 0, 0, NULL });
	table_column(&t, (struct table_column){ "rx", "rx_bytes", true, TABLE_BYTES, 0, NULL });
	table_text(&t, "a \"b\"\n<c>");
	table_number(&t, 1024);
	table_text(&t, "\xc3\xa9");
	table_text(&t, NULL);
	table_text(&t, "d");
	table_text(&t, "nan");
	is_str(form(&t, TABLE_TEXT, &out),
	    "run              rx\n"
	    "a \"b\" <c>  1.00 KiB\n"
	    "\xc3\xa9                 -\n"
	    "d               nan\n", "text is aligned by characters");
	is_str(form(&t, TABLE_MARKDOWN, &out),
	    "| run        |       rx |\n"
	    "| ---------- | -------: |\n"
	    "| a \"b\" \\<c> | 1.00 KiB |\n"
	    "| \xc3\xa9          |        - |\n"
	    "| d          |      nan |\n", "Markdown has a rule and bars");
	is_str(form(&t, TABLE_TSV, &out), "run\trx_bytes\na \"b\" <c>\t1024\n\xc3\xa9\t\nd\tnan\n", "TSV has keys and exact values");
	is_str(form(&t, TABLE_JSON, &out),
	    "[{\"run\":\"a \\\"b\\\" <c>\",\"rx_bytes\":1024},\n "
	    "{\"run\":\"\xc3\xa9\"},\n {\"run\":\"d\",\"rx_bytes\":\"nan\"}]\n", "JSON quotes NaN and omits empty cells");
	is_str(form(&t, TABLE_FORMS, &out),
	    "<table>\n<tr><th>run</th><th class=\"n\">rx</th></tr>\n"
	    "<tr><td>a &quot;b&quot; &lt;c&gt;</td><td class=\"n\">1.00 KiB</td></tr>\n"
	    "<tr><td>\xc3\xa9</td><td class=\"n\"></td></tr>\n<tr><td>d</td><td class=\"n\">nan</td></tr>\n</table>\n",
	    "HTML escapes text");
	ok(table_form("json") == TABLE_JSON && table_form("xml") == TABLE_FORMS, "forms have names");
	table_free(&t);
	table_column(&t, (struct table_column){ "none", "none", true, 0, 0, NULL });
	is_str(form(&t, TABLE_JSON, &out), "[]\n", "a table without cells is an empty array");
	table_free(&t);
	table_column(&t, (struct table_column){ "run", "run", false, 0, 0, NULL });
	table_text(&t, "a|b\\|c");
	table_text(&t, "_x_y_ *z* `w` [v](u) &lt; ~~t~~");
	is_str(form(&t, TABLE_MARKDOWN, &out),
	    "| run                                         |\n"
	    "| ------------------------------------------- |\n"
	    "| a\\|b\\\\\\|c                                   |\n"
	    "| \\_x_y\\_ \\*z\\* \\`w\\` \\[v](u) \\&lt; \\~\\~t\\~\\~ |\n", "Markdown escapes what would be markup");
	table_free(&t);
	buf_free(&out);
	fit();
	return done();
}
