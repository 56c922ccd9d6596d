# plog_follow.t - logs that grow.
. "$TOP/tests/tap.sh"
. "$TOP/tests/plog.sh"
cd "$T" || exit 1

# A log that grows.
mkfifo grows
: >out
plog -f <grows >>out 2>err &
f=$!
exec 8>grows
sed '/epoch	1/,$d' a.tsv | tee /dev/fd/8 >so-far
row 15 step 1 '' '' '' '' >&8
until [ "$(wc -l <out)" -ge 2 ]; do kill -0 $f || break; done
is "$(tail -n 1 out | tr -s ' ')" " 0 0.300000 2.000000 0.400000 1.500000 5.0 200.0" "plog -f prints an epoch when it is over"
sed -n '/epoch	1/,$p' a.tsv >&8
exec 8>&-
wait $f
is $? 0 "plog -f ends with its pipe"
printf 'Epoch[0] Train-accuracy=0.5\nEpoch[0] Validation-accuracy=0.25' | plog -f >whole
ok "plog -f shows the last line of a pipe without its end" grep -q 0.25 whole
plog a.tsv >want
is "$(cat out)" "$(cat want)" "the lines are those of the table"
grep -v '	end	' a.tsv | sed '/epoch	1/,$d' >e.tsv
rm -f out
plog --follow e.tsv >out 2>err &
f=$!
row 15 step 1 '' '' '' '' >>e.tsv
until [ -s out ] || ! kill -0 $f; do :; done
sed -n '/epoch	1/,$p' a.tsv >>e.tsv
wait $f
is $? 0 "plog -f of a file ends with its worker"
is "$(cat out)" "$(cat want)" "the lines of a file are those of the table"
# A log that is truncated, and then replaced.
cp e.tsv want.tsv
grep -v '	end	' a.tsv >e.tsv
rm -f out
timeout 60 plog -f e.tsv >out 2>err &
f=$!
until [ -s out ] || ! kill -0 $f; do :; done
: >e.tsv
until [ -s err ] || ! kill -0 $f; do :; done
is "$(cat err)" "plog: e.tsv: begins again" "plog -f reports a log that was truncated"
grep -v '	end	' a.tsv | sed 's/0\.3/0.35/' >>e.tsv
until grep -q '^2 .* 0\.35' out || ! kill -0 $f; do :; done
like out '^2 .* 0\.35' "a truncated log is another run"
mv e.tsv e.old
sed 's/0\.7/0.66/' want.tsv >e.tsv
wait $f
is $? 0 "plog -f reads the file that replaces a log, until its worker ends"
like out '^3 .* 0\.66' "a replaced log is another run"
# A worker that was killed and started again writes a second head, and one end.
{
	grep -v '	end	' a.tsv
	cat a.tsv
} >again.tsv
timeout 60 plog -f again.tsv >out 2>err
is $? 0 "plog -f ends with a worker that was started again in the same log"
# Several pipes, of which none may block the others.
mkfifo one two
timeout 60 plog -f one two >out 2>err &
f=$!
exec 8>one 9>two
cat want.tsv >&9
exec 9>&-
until [ -s out ] || ! kill -0 $f; do :; done
exec 8>&-
wait $f
is "$? $(cat out)" "0 $(cat want)" "plog -f reads two pipes at once"
status 2 "plog refuses -f with another form than text" plog -f --format json a.tsv
status 2 "plog refuses -f with --compare" plog -f -c a.tsv
is "$(head -n 1 err)" "plog: -f: only with text, and not with --compare or --machines" "the message names both options"
# On a terminal: the last screen after the last erasure.
{
	echo '# tally 0.1 tool=pworker rank=0'
	echo "$head"
	for i in $(seq 0 59); do row "$i" epoch "$i" 1000 "$((60 - i)).0" "0.$((i + 10))" 200; done
	row 60 end '' '' '' '' ''
} >many.tsv
last_screen() { perl -0777 -ne 's/.*\e\[2J//s; tr/\r//d; print' "$1"; }
perl "$TOP/tests/cmd/pty.pl" 80 24 plog -f many.tsv >shown
last_screen shown >screen
is "$(wc -l <screen)" 23 "plog -f fills a screen but for a line"
is "$(sed -n '1p; 2p; $p' screen | awk '{ print $1 }' | paste -sd' ')" "epoch 38 59" "the screen has the head and the last epochs"
if command -v gnuplot >/dev/null; then
	perl "$TOP/tests/cmd/pty.pl" 80 24 plog -f --plot many.tsv >shown
	last_screen shown >screen
	ok "plog -f --plot fills at most a screen" test "$(wc -l <screen)" -le 23
	is "$(awk '$1 == 59' screen | wc -l)" 1 "the screen has the last epoch"
	like screen '^train accuracy +train loss' "the screen has figures"
else
	skip "plog -f --plot" "no gnuplot here"
fi
done_testing
