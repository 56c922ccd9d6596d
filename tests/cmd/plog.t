# plog.t - logs in, tables and figures out.
. "$TOP/tests/tap.sh"

head=$(echo 'time_s host role rank event epoch step samples loss accuracy samples_per_s lr wait_s sent_bytes received_bytes' |
	tr ' ' '\t')
row() { # TIME EVENT EPOCH SAMPLES LOSS ACCURACY SPEED
	printf '%s\thost\tworker\t0\t%s\t%s\t\t%s\t%s\t%s\t%s\t\t\t\t\n' "$@"
}
{
	echo '# tally 0.1 tool=pworker rank=0'
	echo "$head"
	row 0.1 start 0 '' '' '' ''
	row 10 epoch 0 1000 2.0 0.3 200
	row 12 validation 0 100 1.5 0.4 900
	row 22 epoch 1 1000 1.0 0.6 250
	row 24 validation 1 100 nan 0.7 900
	row 25 end '' '' '' '' ''
} >"$T/a.tsv"
cat >"$T/b.log" <<'END'
worker 0: Epoch[0] Train-accuracy=0.500000
worker 1: Epoch[0] Train-accuracy=0.700000
INFO:root:Epoch[0] Time cost=3.5
END

status 0 "a log of rows" plog "$T/a.tsv"
is "$(cat "$T/out")" "  epoch  train accuracy  train loss  validation accuracy  validation loss   seconds  samples/s
      0          0.3000      2.0000               0.4000           1.5000       5.0      200.0
      1          0.6000      1.0000               0.7000              nan       4.0      250.0" "... as a table"
is "$(cat "$T/err")" "" "... and not a word else"
status 0 "lines for people, on standard input" sh -c 'plog <"$1"' sh "$T/b.log"
is "$(cat "$T/out")" "  epoch  train accuracy   seconds
      0          0.6000       3.5" "... the mean of the ranks"
status 0 "a row for each rank" plog -r - <"$T/b.log"
is "$(sed 1d "$T/out" | tr -s ' ')" " 0 0 0.5000 -
 0 1 0.7000 -
 0 - - 3.5" "... and for what nobody's name is on"
status 0 "two logs" plog "$T/a.tsv" "$T/b.log"
is "$(wc -l <"$T/out")" 3 "... are read as one"

cd "$T" || exit 1
if command -v gnuplot >/dev/null; then
	status 0 "a picture" plog --png a.png a.tsv
	is "$(head -c 8 a.png | od -An -tx1 | tr -d ' ')" 89504e470d0a1a0a "... is a PNG"
	is "$(ls ./*.tmp 2>/dev/null)" "" "... and nothing lies beside it"
	is "$(cat err)" "" "... drawn in silence"
	status 0 "a picture of accuracy alone" plog --png b.png b.log
	status 1 "a picture that cannot be written" plog --png none/a.png a.tsv
	like err '^plog: none/a.png: ' "... is named"
	printf '#!/bin/sh\necho "no such terminal" >&2\nexit 1\n' >gnuplot
	chmod +x gnuplot
	PATH=$T:$PATH status 1 "gnuplot that fails" plog --png c.png a.tsv
	is "$(cat err)" "plog: c.png: gnuplot: no such terminal" "... and its reason"
	is "$(ls c.png* 2>/dev/null)" "" "... leaves no picture"
else
	skip "pictures" "no gnuplot here"
fi
PATH=$BUILD:/nowhere status 1 "without gnuplot" plog --png d.png a.tsv
like err '^plog: d.png: gnuplot: No such file' "... it is told"
is "$(wc -l <out)" 3 "... and the table is there all the same"

printf '24\thost\tworker\t0\tvalid' >>a.tsv
status 1 "a log that ends inside a row" plog a.tsv
is "$(cat err)" "plog: a.tsv: line 9: event: 'valid' is not an event" "... is told with its place"
is "$(wc -l <out)" 3 "... and the rest is shown"
echo nothing >empty
status 1 "a file without measurements" plog empty
is "$(cat err)" "plog: empty: no measurements in it" "... is told"
status 1 "a file that is not there" plog none
is "$(cat err)" "plog: none: open: No such file or directory" "... is told"
head -c 300000 /dev/zero | tr '\0' x >long
status 1 "a line without end" plog long
status 1 "nowhere to write" sh -c 'plog a.tsv >/dev/full'
like err 'standard output' "... is told"
status 2 "no such option" plog --nothing
status 0 "--help" plog --help
status 0 "--version" plog --version
like out '^plog \(tally\) [0-9]' "... tells it"
done_testing
