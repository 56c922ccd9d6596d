# plog_figures.t - figures and reports of logs.
. "$TOP/tests/tap.sh"
. "$TOP/tests/plog.sh"
cd "$T" || exit 1
mkdir first && cp a.tsv first
echo '# tally 0.1 tool=pworker host=here rank=0 engine=cpu device=A_CPU' >c.tsv
if command -v gnuplot >/dev/null; then
	status 0 "plog --png" plog --png a.png a.tsv
	is "$(head -c 8 a.png | od -An -tx1 | tr -d ' ')" 89504e470d0a1a0a "the picture is a PNG"
	is "$(ls ./*.tmp 2>/dev/null)" "" "no temporary file is left"
	is "$(cat err)" "" "nothing is written to standard error"
	status 0 "plog --figures accuracy" plog --png b.png --figures accuracy b.log
	is "$(cat out)" "" "a figure that is asked for takes the place of the table"
	ok "unless the table is asked for, too" test -n "$(plog --csv --png e.png --figures accuracy b.log)"
	size() { od -An -tu1 -j16 -N8 "$1" | awk '{ print $3 * 256 + $4, $7 * 256 + $8 }'; }
	is "$(size a.png) $(size b.png)" "900 1560 900 420" "a picture is as high as its figures"
	status 1 "figures without data have status 1" plog --png e.png --figures loss,speed b.log
	is "$(cat err)" "plog: e.png: nothing to draw" "the message says that there is nothing to draw"
	status 2 "plog refuses an unknown figure" plog --figures accuracy,wind b.log
	printf 'Epoch[7] Train-accuracy=0.5\n' >one.log
	is "$(plog --plot --figures accuracy one.log |
		grep -E '^ +[0-9-]+( +[0-9-]+)* *$' | tr -d ' ')" 7 "the axis of a single epoch has that epoch"
	odd=$(printf 'x\nsystem("touch ran")\n#')
	cp a.tsv "$odd"
	status 0 "plog draws a log whose name has lines" plog -c --png odd.png "$odd"
	is "$(ls ran 2>/dev/null)" "" "the lines of a name are not commands of gnuplot"
	status 0 "plog --svg" plog --svg a.svg -c a.tsv "$T/b.log"
	is "$(grep -c '<svg' a.svg)" 1 "the picture is an SVG"
	is "$(grep -c '<text>b.log</text>' a.svg) $(grep -c '<text>train</text>' a.svg)" "2 2" \
		"each run and each measure is named"
	is "$(timeout 20 sh -c 'plog --svg /dev/stdout --figures accuracy a.tsv | grep -c "<svg"')" 1 \
		"plog draws into a pipe"
	mkfifo drawn
	timeout 20 cat drawn >drawn.html &
	status 0 "plog --html writes into a named pipe" timeout 20 plog --html drawn a.tsv
	wait $!
	is "$(grep -c '<title>' drawn.html)" 1 "the reader of the named pipe gets the report"
	{ echo '| model | Accuracy (validation) | Epochs | Training time (s/epoch) |'; echo '| --- | --- | --- | --- |'
	for i in $(seq 12); do echo "| net$i | 0.$((i + 20)) | 12 | $i.5 |"; done; } >doc.md
	status 0 "plog draws runs of a single epoch" plog --svg doc.svg doc.md
	is "$(grep -c '<text>net7</text>' doc.svg) $(grep -o 'viewBox="0 0 [0-9 ]*' doc.svg)" '2 viewBox="0 0 900 720' \
		"each such run has a row in each figure"
	# 30 runs with an accuracy, and 2 of them with a time.
	{ echo '| model | Accuracy (validation) | Epochs | Training time (s/epoch) |'; echo '| --- | --- | --- | --- |'
	for i in $(seq 30); do echo "| net$i | 0.$((i + 20)) | 12 | $([ $i -gt 2 ] || echo $i.5) |"; done; } >few.md
	status 0 "plog draws figures with many and few dots" plog --svg few.svg --figures accuracy,time few.md
	is "$(grep -o 'viewBox="0 0 [0-9 ]*' few.svg)" 'viewBox="0 0 900 1440' \
		"the figure with the most dots has the height that it needs"
	{ echo '| model | Accuracy (validation) | Epochs | Training time (s/epoch) |'; echo '| --- | --- | --- | --- |'
	for i in $(seq 12); do echo "| net$i | $([ $i -gt 2 ] || echo 0.$i) | 12 | $i.5 |"; done; } >most.md
	perl "$TOP/tests/cmd/pty.pl" 60 24 sh -c 'plog --plot --figures accuracy,time most.md 2>most' >shown
	like most 'plog: 1 more figure: choose' "a text has as many figures as the one with the most dots lets fit"
	status 0 "plog --plot --figures time" plog --plot --figures time a.tsv
	like out 'training' "the time has a line of training"
	like out 'with validation' "the time has a line with validation"
	status 0 "plog --plot" plog --plot --figures speed a.tsv
	like out '^ +200 .*A' "the figure is text"
	echo "time_s	it's" >"it's \`id\` <b>.tsv"
	cat a.tsv >>"it's \`id\` <b>.tsv"
	# A run has two colours, and names beside its lines.
	fill() { # FILE: each text that is not black, and its colour
		perl -ne '$c = $1 if /fill="([^"]*)"/; print "$1: $c\n" if /<text>([^<]*)<\/text>/ && $c ne "black"' "$1"
	}
	status 0 "plog --svg of a run" plog --svg one.svg --figures accuracy,loss a.tsv
	is "$(fill one.svg | grep -cE '^(train|validation): ')" 4 "train and validation stand beside their lines"
	is "$(fill one.svg | grep -E '^(train|validation): ' | sort -u | awk '{ print $2 }' | sort -u | wc -l)" 2 \
		"train and validation have two colours"
	is "$(grep -c '<text>a.tsv</text>' one.svg)" 1 "the picture has a title"
	plog --svg all.svg a.tsv >out 2>err
	# The lines of the axes: down, and to the right.
	ends=$(grep -oE "stroke='black' +d='M[^L]*L[^L]*L[0-9.]+" all.svg | sed 's/.*L//' | sort -u)
	ok "the axes of all figures of a picture end below each other" test "$(grep -c . <<<"$ends")" -eq 1

	# Twenty runs.
	for i in $(seq 20); do sed "s/2\.0	0\.3/$i.0	0.3/" a.tsv >"run-$i.tsv"; done
	status 0 "plog --compare of 20 runs" plog -c --svg many.svg --figures loss run-*.tsv
	is "$(grep -oE '<text>run-[0-9]+.tsv</text>' many.svg | sort -u | wc -l)" 20 "each run is named"
	ok "the names do not overlap" perl -e '
		for (<STDIN>) { $y = $1 if /translate\([0-9.]+,([0-9.]+)\)/; push @y, $y if /<text>run-/ }
		@y = sort { $a <=> $b } @y;
		$y[$_] - $y[$_ - 1] > 12 or die "$y[$_ - 1] $y[$_]\n" for 1 .. $#y; exit(@y != 20)' <many.svg
	is "$(grep -c '<text>20 logs</text>' many.svg)" 1 "the title counts many logs"
	perl "$TOP/tests/cmd/pty.pl" 80 24 sh -c 'plog --plot run-*.tsv 2>/dev/null' >shown
	is "$(grep -E '^ *(validation|training|seconds|samples)' shown | grep -c 'run-')" 0 \
		"names of many runs on the terminal stay in their figure"
	is "$(grep -oE 'run-[0-9]+\.tsv' shown | sort -u | wc -l)" 20 "each run is named on the terminal"

	# Text fits a screen.
	widest() { awk '{ if (length($0) > n) n = length($0) } END { print n + 0 }' "$1"; }
	status 0 "plog --plot of four figures" plog --plot a.tsv
	is "$(wc -l <out) $(grep -c . err)" "23 0" "the figures fill a screen of 24 lines but for the prompt's"
	ok "the figures have at most 80 columns" test "$(widest out)" -le 80
	is "$(sed 1q out | tr -d ' ')" a.tsv "the first line is the title"
	is "$(grep -oE 'accuracy|loss|seconds an epoch|samples/s' out | sort | tr '\n' ' ')" \
		"accuracy loss samples/s seconds an epoch " "all four figures are drawn"
	printf 'Epoch[0] Train-accuracy=0.1\nEpoch[1] Train-accuracy=0.3\n' >two.log
	plog --plot --figures accuracy two.log >out
	ok "the figure of two epochs has whole ones on its axis" grep -qE '^ +0 +1 *$' out
	for size in "60 12" "80 24" "100 30" "200 50"; do
		perl "$TOP/tests/cmd/pty.pl" $size plog --plot a.tsv >small
		is "$(wc -l <small)" $((${size#* } - 1)) "figures and messages leave a line of $size for the prompt"
		is "$(sed 1q small | tr -d ' \r')" a.tsv "the title is on the screen of $size"
	done
	perl "$TOP/tests/cmd/pty.pl" 60 12 plog --plot a.tsv >small
	like small '^plog: 3 more figures: choose with --figures' "a message says how many figures are omitted"
	perl "$TOP/tests/cmd/pty.pl" 80 24 plog -c --plot a.tsv b.log >small
	is "$(wc -l <small) $(grep -cE '^(a.tsv|b.log) ' small)" "23 2" "a table and the figures below it fit a screen"

	# A test of learning rates ends where the loss diverges, which the figure leaves out.
	{ echo "$head"; for i in 1 2 3 4; do row $i sweep 0 16 2.$i 0.1 50; done; row 5 sweep 0 16 900 0.1 50; } |
		awk -F'\t' -v OFS='\t' '$5 == "sweep" { $7 = NR - 1; $12 = 10 ^ (NR - 7) } { print }' >sweep.tsv
	status 0 "plog draws a test of learning rates" plog --svg sweep.svg sweep.tsv
	cp sweep.tsv sweep2.tsv
	status 0 "plog draws two of them" plog --svg sweeps.svg --figures lr sweep.tsv sweep2.tsv
	is "$(grep -cE "'M[0-9]{3}\.[0-9]+,-?[0-9]\." sweeps.svg)" 0 "no stroke leads to an end beyond the axis"
	ok "the axis of the test ends near the losses before they diverge" \
		perl -ne 'while (/<text>([0-9.]+)</g) { $seen = 1; $high = $1 if $1 > $high } END { exit !($seen && $high < 5) }' sweep.svg

	# Rates of netstat-logging.
	printf '%s\t2026-11-21T19:10:00.123Z\tvm\teth0\t%s\t1.000\t%s\t500000\t\t\t\t\n' \
		1 period 1000000 2 period 2000000 3 period 0 3 end 3000000 >rate.tsv
	status 0 "plog --figures rate" plog --svg rate.svg --figures rate rate.tsv
	is "$(grep -cE '<text>(Mbit/s|seconds|received|sent)</text>' rate.svg)" 4 \
		"the rate has lines of received and sent Mbit/s over seconds"
	is "$(grep -cE '<text>1[46]</text>' rate.svg)" 2 "the axis has the highest rate"
	status 0 "plog --html of a log of training and one of traffic" plog --html both.html a.tsv rate.tsv
	is "$(grep -c '<text>Mbit/s</text>' both.html)" 2 "the report has the rate"
	status 0 "plog --html" plog -c --all --html a.html "it's \`id\` <b>.tsv" a.tsv
	is "$(cat err)" "" "nothing is written to standard error by --html"
	is "$(grep -oE '^ width="[0-9]+"' a.html | tr -dc '0-9\n' | paste -sd' ') $(grep -c '<table>' a.html)" "900 430 2" \
		"the report has figures for wide and narrow screens, and two tables"
	is "$(grep -iE '<script|src=|https?://[^w]|<\?xml' a.html)" "" "the report is self-contained"
	is "$(grep -o '<title>' a.html | wc -l)" 1 "the page has a title, and no line of a figure has another"
	is "$(grep -cE 'overflow-x|overflow: |display: block' a.html)" 0 "no table of the report has scroll bars"
	like a.html "<td>it's .id. &lt;b&gt;.tsv</td>" "names of runs are escaped"
	status 0 "plog --html of one log" plog --html single.html first/a.tsv
	like single.html '<tr><td>a\.tsv</td>' "a single run has the name of its file"
	status 0 "plog --html of standard input" sh -c 'plog --html single.html - <a.tsv'
	like single.html '<tr><td>standard input</td>' "a run of standard input has that name"
	status 0 "plog -c of standard input" sh -c 'plog -c - a.tsv <a.tsv'
	like out '^standard input ' "standard input has a line of a comparison"
	status 0 "plog --html without measurements" plog --html b.html c.tsv
	is "$(grep -o '<th[^>]*>[a-z ]*epochs\|<th[^>]*>best validation' a.html | sort -u | tr '\n' ' ')" \
		'<th class="n w">epochs <th class="n">best validation ' "a narrow screen shows the most useful columns"
	like a.html '^\.w \{ display: none; \}$' "a narrow screen hides the other columns"
	like b.html '<td class="w">A CPU</td>' "the report has the machines"
	status 1 "a report that cannot be written has status 1" plog --html none/a.html a.tsv
	like err '^plog: none/a.html: ' "the message names the report"
	status 1 "a picture that cannot be written has status 1" plog --png none/a.png a.tsv
	like err '^plog: none/a.png: ' "the message names the picture"
	printf '#!/bin/sh\necho "no such terminal" >&2\nexit 1\n' >gnuplot
	chmod +x gnuplot
	PATH=$T:$PATH status 1 "a gnuplot that fails has status 1" plog --png c.png a.tsv
	is "$(cat err)" "plog: c.png: gnuplot: no such terminal" "the message has gnuplot's reason"
	is "$(ls c.png* 2>/dev/null)" "" "a gnuplot that fails leaves no picture"
else
	skip "figures" "no gnuplot here"
fi
PATH=$BUILD:/nowhere status 1 "without gnuplot, a picture has status 1" plog --png d.png a.tsv
like err '^plog: d.png: gnuplot: No such file' "the message names gnuplot"
is "$(wc -l <out)" 3 "the table is printed without gnuplot"
done_testing
