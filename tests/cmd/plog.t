# plog.t - tables of logs.
. "$TOP/tests/tap.sh"
. "$TOP/tests/plog.sh"

status 0 "plog reads rows of log(5)" plog "$T/a.tsv"
is "$(cat "$T/out")" "epoch  train accuracy  train loss  val accuracy  val loss  seconds  samples/s
    0        0.300000    2.000000      0.400000  1.500000      5.0      200.0
    1        0.600000    1.000000      0.700000       nan      4.0      250.0" "the table has a line for each epoch"
is "$(cat "$T/err")" "" "nothing is written to standard error"
status 0 "plog reads lines for people from standard input" sh -c 'plog <"$1"' sh "$T/b.log"
is "$(cat "$T/out")" "epoch  train accuracy  seconds
    0        0.600000      3.5" "the table has the mean of the ranks"
status 0 "plog -r prints ranks" plog -r - <"$T/b.log"
is "$(sed 1d "$T/out" | tr -s ' ')" " 0 0 0.500000 -
 0 1 0.700000 -
 0 - - 3.5" "-r has a line for each rank, and one for lines without a rank"
status 0 "plog reads two logs" plog "$T/a.tsv" "$T/b.log"
is "$(wc -l <"$T/out")" 3 "two logs are read as one"

cd "$T" || exit 1
# Two runs of two epochs, one run in two parts, and one whose two workers have a log each.
log() { echo "# tally 0.1 tool=pworker host=h rank=$1 workers=${3:-1} net=n"; sed "1d; s/worker	0/worker	$1/" "$2"; }
{ sed 1q a.tsv; log 0 a.tsv; } >first.tsv
{ sed 1q a.tsv; log 0 a.tsv; } >second.tsv
{ sed 1q a.tsv; log 0 a.tsv 2; log 1 a.tsv 2; } >both.tsv
is "$(plog --format tsv first.tsv second.tsv | cut -f 1,2)" "run	epoch
1	0
1	1
2	0
2	1" "two logs of two epochs each are two runs"
is "$(plog --format tsv both.tsv first.tsv second.tsv first.tsv | cut -f 1 | uniq -c | awk '{ print $1 $2 }' | tr '\n' ' ')" \
	"1run 21 22 23 24 " "each further log is a run, also after one of two workers"
is "$(plog both.tsv first.tsv second.tsv 2>/dev/null | awk '{ print $1 }' | uniq | tr '\n' ' ')" "run both.tsv first.tsv second.tsv " \
	"a table for people names runs after their logs"
is "$(cat first.tsv second.tsv | plog - 2>/dev/null | awk '{ print $1 }' | uniq | tr '\n' ' ')" "run 1 2 " "runs of one log have numbers"
# The first row of a job's log may be of either of its workers.
for first in 0 1; do
	{ log $first a.tsv 2; log $((1 - first)) a.tsv 2; } >job.tsv
	is "$(plog --format tsv first.tsv job.tsv | cut -f 1,2 | paste -sd' ')" "run	epoch 1	0 1	1 2	0 2	1" \
		"the log of a job whose worker $first wrote first is a run of its own"
done
{ echo '# tally 0.1 tool=pworker host=h rank=0 workers=2'; echo '# tally 0.1 tool=pworker host=h rank=1 workers=2'
	sed '1d; s/worker	0/worker	1/' a.tsv; sed 1d a.tsv; } >job.tsv
is "$(plog --format tsv first.tsv job.tsv | cut -f 1,2 | paste -sd' ')" "run	epoch 1	0 1	1 2	0 2	1" \
	"so is a log that begins with the heads of both workers"
{ sed 1q a.tsv; log 0 a.tsv | awk -F'\t' '$6 != "0"'; } >rest.tsv
is "$(plog --format tsv first.tsv rest.tsv | cut -f 1 | tr '\n' ' ')" "epoch 0 1 " "a resumed run may repeat its last epoch"
is "$(plog --format tsv both.tsv | cut -f 1 | tr '\n' ' ')" "epoch 0 1 " "the workers of a run have logs of their own"
# The lines of two workers of six epochs, which alternate at random, in bursts that leave one of them epochs behind.
{ sed 2q a.tsv; for i in 0 1 2 3 4 5; do row $((i * 9 + 8)).5 epoch $i 1000 2.$i 0.$i 200
	row $((i * 9 + 9)) validation $i 100 1.$i 0.$i 900; done; } >six.tsv
for rank in 0 1; do log $rank six.tsv 2 | sed "s/	200	/	2${rank}0	/" >six-$rank.tsv; done
for seed in 1 2 3 4 5 6; do
	perl -e 'srand shift; @q = map { open $f, "<", $_ or die; [<$f>] } @ARGV;
		while (@q = grep { @$_ } @q) { $q = $q[rand @q]; print splice @$q, 0, 1 + rand 9 }' $seed six-0.tsv six-1.tsv >mixed.tsv
	is "$(plog --csv mixed.tsv)" "$(plog --csv six-0.tsv six-1.tsv)" "the lines of two workers may alternate (seed $seed)"
done
is "$(plog --csv mixed.tsv | wc -l)" 7 "the workers are one run"

status 0 "plog --format markdown" plog --format markdown b.log
is "$(cat out)" "| epoch | train accuracy | seconds |
| ----: | -------------: | ------: |
|     0 |       0.600000 |     3.5 |" "Markdown has a rule and bars"
status 0 "plog reads its own Markdown" sh -c 'plog --format markdown a.tsv | plog --format tsv'
is "$(tail -n 1 out)" "1	0.6	1	0.7		4	250" "a NaN of Markdown becomes an empty cell"
cp a.tsv 'a|b_c<d>.tsv'
status 0 "plog --compare --format markdown" plog --compare --format markdown 'a|b_c<d>.tsv'
like out '^\| a\\\|b_c\\<d>\.tsv \| ' "Markdown escapes the bar and the < of a name"
is "$(plog --format tsv out | sed 1d | cut -d ' ' -f 1)" "a|b_c<d>.tsv" "plog reads the escaped name"
status 0 "plog --format tsv" plog --format tsv a.tsv
is "$(sed 2q out | tr '\t' ' ')" "epoch train_accuracy train_loss validation_accuracy validation_loss seconds samples_per_s
0 0.3 2 0.4 1.5 5 200" "TSV has exact values"
status 0 "plog --format json" plog --format json a.tsv
is "$(perl -MJSON::PP -0777 -ne '$t = decode_json($_); print scalar @$t, " $t->[1]{samples_per_s} $t->[0]{validation_loss}"' out)" \
	"2 250 1.5" "JSON has an object for each epoch"
status 2 "plog refuses an unknown form" plog --format xml a.tsv
status 0 "plog --machines of a log without machines" plog --machines --format tsv a.tsv
is "$(cat out)" "" "the table is empty"
echo '# tally 0.1 tool=pworker host=here rank=0 engine=cpu device=A_CPU' >c.tsv
status 0 "plog --machines" plog --machines --format tsv c.tsv a.tsv
is "$(sed 1d out)" "here	1	pworker	A CPU	tally 0.1, engine cpu" "the machine has its hardware and software"

# A run that ended before its first epoch did.
step() { row "$2" step 0 8 "$3" 0.5 400 | awk -F'\t' -v OFS='\t' -v n="$1" '{ $7 = n; print }'; }
{ sed 1q c.tsv; echo "$head"; row 0.1 start 0 '' '' '' ''; } >begun.tsv
{ cat begun.tsv; step 1 1 2.0; step 2 2 1.5; } >steps.tsv
status 0 "plog reads a log without an epoch" plog --format tsv steps.tsv
is "$(tr '\t' ' ' <out)" "step train_accuracy train_loss seconds samples_per_s
1 0.5 2 0.02 400
2 0.5 1.5 0.02 400" "the table has its steps"
is "$({ cat steps.tsv; row 3 epoch 0 16 1.7 0.5 400; } | plog --format tsv | cut -f 1,3)" "epoch	train_loss
0	1.7" "an epoch takes the place of its steps"
is "$(plog -c steps.tsv a.tsv | awk '{ print $1, $2 }')" "run epochs
steps.tsv 0
a.tsv 2" "-c has a line for it"
status 1 "plog of a log without a step" plog begun.tsv
is "$(cat err)" "plog: begun.tsv: no epoch and no step; print its machines with --machines" "the message says so"
status 1 "plog --png of it" plog --png begun.png begun.tsv
like err 'begun\.tsv: no epoch and no step' "the message of --png says so"
status 1 "plog -c of it" plog -c steps.tsv begun.tsv
is "$(cat err)" "plog: begun.tsv: no epoch and no step, so it has no line" "the message of -c says that the log has no line"
status 2 "--figures without a drawing is refused" plog --figures loss a.tsv

# Runs compared: a line for each, under the name of its file.
sed 's/0\.7/0.65/' a.tsv >d.tsv
status 0 "plog --compare" plog --compare --format tsv a.tsv d.tsv
is "$(cut -f1-5,7,8 out | sed 1d)" "a.tsv	2	0.7	1	0.7	4.5	225
d.tsv	2	0.65	1	0.65	4.5	225" "each run has a line"
mkdir -p first second
cp a.tsv first && cp d.tsv second/a.tsv
status 0 "plog --compare of logs of one name" plog --compare --format tsv first/a.tsv second/a.tsv d.tsv
is "$(sed 1d out | cut -f1 | paste -sd,)" "first/a.tsv,second/a.tsv,d.tsv" "logs of one name are named by their paths"
status 0 "plog --compare --ranks" plog -cr a.tsv d.tsv
is "$(grep -c '^[ad].tsv ' out)" 4 "each epoch of each run has a line"
status 0 "plog --compare of a log for people" plog -c --format tsv b.log a.tsv

# CSV.
cp a.tsv 'one, "two".tsv'
status 0 "plog --csv" plog --csv -c 'one, "two".tsv' d.tsv
is "$(cut -d, -f1-4 out)" 'run,epochs,best_validation_accuracy,best_at
"one, ""two"".tsv",2,0.7
d.tsv,2,0.65,1' "CSV quotes names with commas and quotes"
is "$(perl -ne 'print scalar(() = /(?:^|,)("(?:[^"]|"")*"|[^",\n]*)/g), " "' out)" "8 8 8 " "each line of CSV has eight fields"
status 0 "plog --format csv" plog --format csv -c 'one, "two".tsv' d.tsv
is "$(plog --csv -c 'one, "two".tsv' d.tsv)" "$(cat out)" "--csv is --format csv"

# Tables of many columns and of long names.
widest() { awk '{ if (length($0) > n) n = length($0) } END { print n + 0 }' "$1"; }
{
	echo '| model | train accuracy | train loss | validation accuracy | validation loss | load | rx | tx | time | samples/s | epochs |'
	for i in 1 2; do
		echo "| a net with a name of more than forty characters $i | .1 | 2.3 | .2 | 2.2 | .5 | 1 GiB | 2 GiB | 9 | 100 | $i |"
	done
} >wide.md
status 0 "plog of eleven columns" plog wide.md
ok "the table fits into 80 columns" test "$(widest out)" -le 80
like out '^run +epoch +train accuracy +train loss +val accuracy' "the table has the most useful columns"
like out '^a net with a \.\.' "a long name is shortened in its middle"
is "$(cat err)" "plog: 6 more columns: use --all" "standard error says how many columns are omitted"
status 0 "plog --all" plog --all wide.md
like out '^run .* val accuracy +val loss +seconds +samples/s +load +rx +tx$' "--all prints all columns"
like out '^a net with a name of more than forty characters 2 ' "--all prints names in full"
is "$(cat err)" "" "--all omits nothing"
is "$(plog --format tsv wide.md | awk -F '\t' 'NR == 1 { print NF }')" 11 "other forms have all columns"
perl "$TOP/tests/cmd/pty.pl" 200 24 plog wide.md >wide
ok "a wide terminal has more columns" test "$(widest wide)" -gt 100
status 0 "plog -c of long names" plog -c wide.md
ok "the comparison fits into 80 columns" test "$(widest out)" -le 80
echo '# tally 0.1 tool=pworker host=here rank=0 engine=cpu device=A_Processor_of_some_maker_with_a_long_name_and_64_threads' >c.tsv
status 0 "plog --machines of long names" plog --machines c.tsv
ok "the machines fit into 80 columns" test "$(widest out)" -le 80

printf '%s\n' '- froze 2  Acc@1 81.4' 'froze 2' 'batch1  RX bytes:1000  TX bytes:500' 'batch5  RX bytes:3000  TX bytes:900' >counts
is "$(plog --format tsv counts | sed 1d | tr '\t' ' ')" "froze 2  5  2000 400
froze 2   0.814  " "steps and the summary of one name are one run"

seeds=$DATA/../seeds
if [ -d "$seeds" ]; then
	tsv() { plog --format tsv "$seeds/$1"*; }
	is "$(tsv 001 | awk -F '\t' 'NR > 1 { n++; s += $3 } END { print n, s }')" \
		"24 $(awk -F '|' '$2 ~ /^ [0-9]+ $/ { s += $3 } END { print s }' "$seeds"/001*)" "plog reads every row of MXNet's tables"
	is "$(plog --format markdown "$seeds"/001* | sed -n 10p | tr -s ' ')" \
		"| 5 machines with 10 GTX 980, BSP: batch_size = 512, learning_rate = .1 | 40 | 0.951681 | 0.863672 | 7.0 |" \
		"headings name the runs of MXNet's tables"
	is "$(tsv 000 | awk '$1 < 3' | wc -l)" 30 "plog reads MXNet's logs"
	is "$(tsv 000 | awk '$1 == 2 && $2 == 19 { print $4 }')" 0.824894667 "MXNet's log has the mean of three workers"
	is "$(tsv 002 | awk -F '\t' '/resnet50 512x8=4096 \(lr=0.4\) 8/ { print $3, $4, $5, $6 }')" \
		"0.604 2.1 24000 0.7" "plog reads a table of results"
	is "$(tsv 003 | awk -F '\t' '$1 == "epoch 50: server3" { print $6, $7 }')" "45682.8 2979676511273" \
		"plog reads a summary of vnstat"
	is "$(tsv 003 | awk -F '\t' '$1 == "30 epochs: server2" { print $7, $8 }')" "1786706395136 1758789107712" \
		"plog reads the traffic of many epochs in a table"
	is "$(tsv 003 | awk -F '\t' '$1 == "no fraze layers" && $3 == 355 { print $7, $8 }')" \
		"376595358958 378745601514" "plog reads counters by step"
	is "$(tsv 004 | awk -F '\t' '$1 == 2 && $2 == 2000 { print $3, $4, $5, $6 }')" "0.9375 0.233018 0.014 1995" \
		"plog reads steps of TensorFlow"
	is "$(plog --machines --format tsv "$seeds"/001* "$seeds"/002* | wc -l)" 8 "plog finds the machines of documents"
	is "$(plog --machines --format tsv "$seeds"/002* | cut -f1 | grep -c '^Infrastructure 1\*$')" 1 "machines have the documents' names"
else
	skip "logs of other programs" "no $seeds"
fi

printf '24\thost\tworker\t0\tvalid' >>a.tsv
status 1 "a log that ends inside a row is malformed" plog a.tsv
is "$(cat err)" "plog: a.tsv: line 9: event: 'valid' is not an event" "the message names the line"
is "$(wc -l <out)" 3 "the other rows are printed"
echo nothing >empty
status 1 "a file without measurements has status 1" plog empty
is "$(cat err)" "plog: empty: no measurements: neither rows of log(5) nor lines of MXNet or TensorFlow" "the message names the file"
status 1 "a file that does not exist has status 1" plog none
is "$(cat err)" "plog: none: open: No such file or directory" "the message gives the reason"
head -c 300000 /dev/zero | tr '\0' x >long
status 1 "a line of 300 KB is not a measurement" plog long
status 1 "a full disk has status 1" sh -c 'plog a.tsv >/dev/full'
like err 'standard output' "the message names standard output"
status 2 "plog refuses an unknown option" plog --nothing
status 0 "plog --help" plog --help
status 0 "plog --version" plog --version
like out '^plog \(tally\) [0-9]' "--version prints the version"
done_testing
