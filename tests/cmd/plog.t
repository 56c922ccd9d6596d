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
is "$(cat "$T/out")" "epoch  train accuracy  train loss  validation accuracy  validation loss  seconds  samples/s
    0        0.300000    2.000000             0.400000         1.500000      5.0      200.0
    1        0.600000    1.000000             0.700000              nan      4.0      250.0" "... as a table"
is "$(cat "$T/err")" "" "... and not a word else"
status 0 "lines for people, on standard input" sh -c 'plog <"$1"' sh "$T/b.log"
is "$(cat "$T/out")" "epoch  train accuracy  seconds
    0        0.600000      3.5" "... the mean of the ranks"
status 0 "a row for each rank" plog -r - <"$T/b.log"
is "$(sed 1d "$T/out" | tr -s ' ')" " 0 0 0.500000 -
 0 1 0.700000 -
 0 - - 3.5" "... and for what nobody's name is on"
status 0 "two logs" plog "$T/a.tsv" "$T/b.log"
is "$(wc -l <"$T/out")" 3 "... are read as one"

cd "$T" || exit 1
status 0 "as Markdown" plog --format markdown b.log
is "$(cat out)" "| epoch | train accuracy | seconds |
| ----: | -------------: | ------: |
|     0 |       0.600000 |     3.5 |" "... a table"
status 0 "... is read again" sh -c 'plog --format markdown a.tsv | plog --format tsv'
is "$(tail -n 1 out)" "1	0.6	1	0.7		4	250" "... but for what was no number"
status 0 "as TSV" plog --format tsv a.tsv
is "$(sed 2q out | tr '\t' ' ')" "epoch train_accuracy train_loss validation_accuracy validation_loss seconds samples_per_s
0 0.3 2 0.4 1.5 5 200" "... exact"
status 0 "as JSON" plog --format json a.tsv
is "$(perl -MJSON::PP -0777 -ne '$t = decode_json($_); print scalar @$t, " $t->[1]{samples_per_s} $t->[0]{validation_loss}"' out)" \
	"2 250 1.5" "... objects"
status 2 "as nothing that there is" plog --format xml a.tsv
status 0 "the machines" plog --machines --format tsv a.tsv
is "$(cat out)" "" "... of a log that does not tell"
echo '# tally 0.1 tool=pworker host=here rank=0 engine=cpu device=A_CPU' >c.tsv
status 0 "the machines" plog --machines --format tsv c.tsv a.tsv
is "$(sed 1d out)" "here	1	pworker	A CPU	tally 0.1, engine cpu" "... of one that does"

# Runs compared: a line each, under their files' names.
sed 's/0\.7/0.65/' a.tsv >d.tsv
status 0 "two runs" plog --compare --format tsv a.tsv d.tsv
is "$(cut -f1-5,7,8 out | sed 1d)" "a.tsv	2	0.7	1	0.7	4.5	225
d.tsv	2	0.65	1	0.65	4.5	225" "... a line each"
status 0 "... by rank" plog -cr a.tsv d.tsv
is "$(grep -c '^[ad].tsv ' out)" 4 "... a line an epoch"
status 0 "... by rank, as figures of each" plog -c --format tsv b.log a.tsv

# A log that grows.
mkfifo grows
: >out
plog -f <grows >>out 2>err &
f=$!
exec 8>grows
sed '/epoch	1/,$d' a.tsv | tee /dev/fd/8 >so-far
row 15 step 1 '' '' '' '' >&8
until [ "$(wc -l <out)" -ge 2 ]; do kill -0 $f || break; done
is "$(tail -n 1 out | tr -s ' ')" " 0 0.300000 2.000000 0.400000 1.500000 5.0 200.0" "an epoch that is over is shown"
sed -n '/epoch	1/,$p' a.tsv >&8
exec 8>&-
wait $f
is $? 0 "... until the log ends"
plog a.tsv >want
is "$(cat out)" "$(cat want)" "... line by line the table"
grep -v '	end	' a.tsv | sed '/epoch	1/,$d' >e.tsv
rm -f out
plog --follow e.tsv >out 2>err &
f=$!
row 15 step 1 '' '' '' '' >>e.tsv
until [ -s out ] || ! kill -0 $f; do :; done
sed -n '/epoch	1/,$p' a.tsv >>e.tsv
wait $f
is $? 0 "a file is followed until its worker ends"
is "$(cat out)" "$(cat want)" "... likewise"
# A log that begins again: cut off, then another file of its name.
cp e.tsv want.tsv
grep -v '	end	' a.tsv >e.tsv
rm -f out
timeout 60 plog -f e.tsv >out 2>err &
f=$!
until [ -s out ] || ! kill -0 $f; do :; done
: >e.tsv
until [ -s err ] || ! kill -0 $f; do :; done
is "$(cat err)" "plog: e.tsv: begins again" "a log that is cut off begins again"
grep -v '	end	' a.tsv | sed 's/0\.3/0.35/' >>e.tsv
until grep -q '^2 .* 0\.35' out || ! kill -0 $f; do :; done
like out '^2 .* 0\.35' "... as another run"
mv e.tsv e.old
sed 's/0\.7/0.66/' want.tsv >e.tsv
wait $f
is $? 0 "... and so does one that is replaced by another file, until that one's worker ends"
like out '^3 .* 0\.66' "... with what is in that"
# Several pipes at once, none of which keeps the others waiting.
mkfifo one two
timeout 60 plog -f one two >out 2>err &
f=$!
exec 8>one 9>two
cat want.tsv >&9
exec 9>&-
until [ -s out ] || ! kill -0 $f; do :; done
exec 8>&-
wait $f
is "$? $(cat out)" "0 $(cat want)" "pipes are followed side by side"
status 2 "following has one form" plog -f --format json a.tsv

printf '%s\n' '- froze 2  Acc@1 81.4' 'froze 2' 'batch1  RX bytes:1000  TX bytes:500' 'batch5  RX bytes:3000  TX bytes:900' >counts
is "$(plog --format tsv counts | sed 1d | tr '\t' ' ')" "froze 2  5  2000 400
froze 2   0.814  " "steps and the whole of a run of one name are one run's"

seeds=$DATA/../seeds
if [ -d "$seeds" ]; then
	tsv() { plog --format tsv "$seeds/$1"*; }
	is "$(tsv 001 | awk -F '\t' 'NR > 1 { n++; s += $3 } END { print n, s }')" \
		"24 $(awk -F '|' '$2 ~ /^ [0-9]+ $/ { s += $3 } END { print s }' "$seeds"/001*)" "MXNet's tables, every row"
	is "$(plog --format markdown "$seeds"/001* | sed -n 10p | tr -s ' ')" \
		"| 5 machines with 10 GTX 980, BSP: batch_size = 512, learning_rate = .1 | 40 | 0.951681 | 0.863672 | 7.0 |" \
		"... under the names that they have"
	is "$(tsv 000 | awk '$1 < 3' | wc -l)" 30 "MXNet's logs"
	is "$(tsv 000 | awk '$1 == 2 && $2 == 19 { print $4 }')" 0.824894667 "... three workers' mean"
	is "$(tsv 002 | awk -F '\t' '/resnet50 512x8=4096 \(lr=0.4\) 8/ { print $3, $4, $5, $6 }')" \
		"0.604 2.1 24000 0.7" "a table of results"
	is "$(tsv 003 | awk -F '\t' '$1 == "epoch 50: server3" { print $6, $7 }')" "45682.8 2979676511273" \
		"a summary of vnstat"
	is "$(tsv 003 | awk -F '\t' '$1 == "30 epochs: server2" { print $7, $8 }')" "1786706395136 1758789107712" \
		"traffic of all epochs in its table"
	is "$(tsv 003 | awk -F '\t' '$1 == "no fraze layers" && $3 == 355 { print $7, $8 }')" \
		"376595358958 378745601514" \
		"counters by step"
	is "$(tsv 004 | awk -F '\t' '$1 == 2 && $2 == 2000 { print $3, $4, $5, $6 }')" "0.9375 0.233018 0.014 1995" "TensorFlow's steps"
	is "$(plog --machines --format tsv "$seeds"/001* "$seeds"/002* | wc -l)" 8 "machines"
	is "$(plog --machines --format tsv "$seeds"/002* | cut -f1 | grep -c '^Infrastructure 1\*$')" 1 "... by their names"
else
	skip "the logs of others" "no $seeds"
fi

if command -v gnuplot >/dev/null; then
	status 0 "a picture" plog --png a.png a.tsv
	is "$(head -c 8 a.png | od -An -tx1 | tr -d ' ')" 89504e470d0a1a0a "... is a PNG"
	is "$(ls ./*.tmp 2>/dev/null)" "" "... and nothing lies beside it"
	is "$(cat err)" "" "... drawn in silence"
	status 0 "a picture of accuracy alone" plog --png b.png --figures accuracy b.log
	size() { od -An -tu1 -j16 -N8 "$1" | awk '{ print $3 * 256 + $4, $7 * 256 + $8 }'; }
	is "$(size a.png) $(size b.png)" "900 1740 900 480" "... is as high as its figures"
	status 1 "a picture of what is not there" plog --png e.png --figures loss,speed b.log
	is "$(cat err)" "plog: e.png: nothing to draw" "... is none"
	status 2 "figures that there are not" plog --figures accuracy,wind b.log
	printf 'Epoch[7] Train-accuracy=0.5\n' >one.log
	is "$(plog --plot --figures accuracy one.log |
		grep -E '^ +[0-9-]+( +[0-9-]+)* *$' | tr -d ' ')" 7 "a single epoch has an axis of its own"
	odd=$(printf 'x\nsystem("touch ran")\n#')
	cp a.tsv "$odd"
	status 0 "a log whose name has lines" plog -c --png odd.png "$odd"
	is "$(ls ran 2>/dev/null)" "" "... that are no commands of gnuplot's"
	status 0 "SVG" plog --svg a.svg -c a.tsv "$T/b.log"
	is "$(grep -c '<svg' a.svg)" 1 "... is one"
	is "$(grep -c '<text>b.log</text>' a.svg) $(grep -c '<text>train</text>' a.svg)" "1 2" \
		"... with each run's name once, and a measure's once a figure"
	{ echo '| model | Accuracy (validation) | Epochs | Training time (s/epoch) |'; echo '| --- | --- | --- | --- |'
	for i in $(seq 12); do echo "| net$i | 0.$((i + 20)) | 12 | $i.5 |"; done; } >doc.md
	status 0 "runs of a single place" plog --svg doc.svg doc.md
	is "$(grep -c '<text>net7</text>' doc.svg) $(grep -o 'viewBox="0 0 [0-9 ]*' doc.svg)" '2 viewBox="0 0 900 700' \
		"... have a line each in each figure"
	status 0 "time is drawn with validation on top" plog --plot --figures time a.tsv
	like out 'training' "... as lines"
	like out 'with validation' "... of their own"
	status 0 "on the terminal" plog --plot --figures speed a.tsv
	like out '^ +200 .*[*]' "... in letters"
	echo "time_s	it's" >"it's \`id\` <b>.tsv"
	cat a.tsv >>"it's \`id\` <b>.tsv"
	status 0 "a report" plog -c --html a.html "it's \`id\` <b>.tsv" a.tsv
	is "$(cat err)" "" "... without a word"
	is "$(grep -c '<svg' a.html) $(grep -c '<table>' a.html)" "1 2" "... in one file"
	is "$(grep -iE '<script|src=|https?://[^w]|<\?xml' a.html)" "" "... that needs no other"
	like a.html "<td>it's .id. &lt;b&gt;.tsv</td>" "... whatever runs are called"
	status 0 "a report without figures" plog --html b.html c.tsv
	like b.html '<td>A CPU</td>' "... tells the machines"
	status 1 "a report that cannot be written" plog --html none/a.html a.tsv
	like err '^plog: none/a.html: ' "... is named"
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
