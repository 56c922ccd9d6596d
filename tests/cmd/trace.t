# trace.t - pworker --trace writes JSON with nested spans, whatever ends the run; its rows show what overlaps.
. "$TOP/tests/tap.sh"
PATH=$BUILD/share/demo:$PATH
cd "$T" || exit 1
export OMP_NUM_THREADS=1

pictures images 60 1 && im2rec images >a.rec || exit 1
train="pworker --net lenet --variant bn --data a.rec --batch 10 --epochs 2"

# Prints the spans of a file, one per line: row, name, begin and end in nanoseconds, and the enclosing span.  Fails if
# the file is not JSON, if spans of a row overlap without nesting, or if a slice has no begin or no end.
cat >spans <<'END'
use JSON::PP; use strict;
local $/; open(my $f, "<", $ARGV[0]) or die; my $events = decode_json(<$f>)->{traceEvents};
my (%row, %open, @span);
sub ns { sprintf "%.0f", 1000 * $_[0] }
for (@$events) {
	$row{$_->{tid}} = $_->{args}{name} if $_->{name} eq "thread_name";
	push @span, [$_->{tid}, $_->{name}, ns($_->{ts}), ns($_->{ts}) + ns($_->{dur})] if $_->{ph} eq "X";
	$open{$_->{id}} = ns($_->{ts}) if $_->{ph} eq "b";
	push @span, [0, "slice", delete $open{$_->{id}} // die("unborn"), ns($_->{ts})] if $_->{ph} eq "e";
}
die "flies on" if %open;
$row{0} = "slices";
my %within;
for my $s (sort { $a->[0] <=> $b->[0] || $a->[2] <=> $b->[2] || $b->[3] <=> $a->[3] } @span) {
	my $w = $within{$s->[0]} //= [];
	die "ends before it begins: @$s" if $s->[3] < $s->[2];
	pop @$w while @$w && $w->[-1][3] <= $s->[2];
	die "@$s is not within @{$w->[-1]}" if $s->[0] > 0 && @$w && $w->[-1][3] < $s->[3];
	print join("\t", $row{$s->[0]} // die("a row without a name"), $s->[1], $s->[2], $s->[3],
	    @$w && $s->[0] > 0 ? $w->[-1][1] : ""), "\n";
	push @$w, $s;
}
END
spans() { perl spans "$1" >list; }
count() { awk -F '\t' -v row="$1" -v name="$2" -v outer="$3" '$1 == row && $2 ~ "^" name "$" && $5 ~ "^" outer "$"' list | wc -l; }

status 0 "pworker trains with --trace" $train --val a.rec --save w --trace one.json
ok "the trace of a run is JSON with nested spans" spans one.json
is "$(count training 'step [0-9]+' '')" 12 "the trace has a span for each step"
for phase in 'wait for batch' forward backward statistics; do
	is "$(count training "$phase" 'step [0-9]+')" 12 "each step of the trace has a span for $phase"
done
is "$(count training push backward)" 120 "each gradient's push lies within backward"
is "$(count training push '.*')" 120 "no push lies outside backward"
is "$(count training optimizer push) $(count training optimizer '.*')" "12 12" \
	"without servers the optimizer runs within a push"
is "$(count training pull forward) $(count training pull validation)" "110 20" \
	"each array's pull lies within forward or an earlier validation"
is "$(count training validation '') $(count training checkpoint '') $(count checkpoints write '')" "2 2 2" \
	"the trace has each validation and each checkpoint"
is "$(count layers conv2 '') $(count layers 'fc1 backward' '')" "12 24" \
	"each layer has a span forward, and two backward with a bias"
ok "the spans of layers lie within forward and backward" awk -F '\t' '
	$2 == "forward" || $2 == "backward" { a[$2, n[$2]++] = $3; b[$2, n[$2] - 1] = $4 }
	$1 == "layers" { way = $2 ~ / backward$/ ? "backward" : "forward"; ok = 0
		for (i = 0; i < n[way]; i++) ok += $3 >= a[way, i] && $4 <= b[way, i]
		if (!ok) { print; exit 1 } }' <(sort -t "$(printf '\t')" -k1,1r list)
ok "--trace does not change the weights" \
	sh -c "$train --val a.rec --save v >plain && cmp w-0002.safetensors v-0002.safetensors"

status 0 "pworker accepts --trace FILE:5-7" $train --trace three.json:5-7
spans three.json
is "$(awk -F '\t' '$2 ~ /^step/ { print $2 }' list | paste -sd,)" "step 5,step 6,step 7" \
	"--trace FILE:5-7 records steps 5 to 7"
status 0 "pworker --resume accepts --trace FILE:2" $train --resume w-0001.safetensors --trace two.json:2
spans two.json
is "$(awk -F '\t' '$2 ~ /^step/ { print $2 }' list | paste -sd,)" "step 7,step 8" \
	"--trace FILE:2 records the first two steps of a resumed run"
status 2 "pworker refuses --trace FILE:0" $train --trace none.json:0
like "$T/err" '^pworker: --trace: ' "pworker names --trace if its number of steps is 0"
status 2 "pworker refuses --trace FILE:5-4" $train --trace none.json:5-4
status 2 "pworker refuses --trace FILE:x" $train --trace none.json:x
is "$(cat "$T/err")" "pworker: --trace: 'none.json:x' is not FILE, FILE:N or FILE:A-B" \
	"pworker reports the forms of --trace for FILE:x"
status 2 "pworker refuses --trace FILE: without a number" $train --trace none.json:
status 0 "--trace accepts steps after a file name with a colon" $train --trace odd:x.json:1
ok "--trace writes a file whose name has a colon" test -s odd:x.json
mkdir a:b
status 0 "--trace accepts a folder whose name has a colon" $train --trace a:b/one.json
status 2 "pworker refuses --trace to standard output" $train --trace -:3
like "$T/err" '^pworker: --trace: ' "pworker names --trace if its file is standard output"
status 1 "pworker exits with status 1 if the trace's disk is full" $train --trace /dev/full
like "$T/err" '^pworker: --trace: /dev/full: No space left' "pworker names the trace on a full disk"
status 1 "pworker exits with status 1 if the trace's folder is missing" $train --trace nowhere/one.json
like "$T/err" '^pworker: --trace: nowhere/one\.json: ' "pworker names the trace in a missing folder"

status 0 "a job of two workers trains with --trace" dlaunch -n 2 -s 1 -- $train --trace job.json
for w in 0 1; do
	ok "worker $w writes a trace with nested spans" spans job.json.$w
	ok "the trace of worker $w has spans of the network" \
		test "$(count network '(send|receive|send and receive)' '')" -gt 0
	ok "slices of worker $w travel during forward or backward" awk -F '\t' '
		$1 == "slices" { a[n] = $3; b[n++] = $4 }
		$2 == "backward" || $2 == "forward" { for (i = 0; i < n; i++) seen += a[i] < $4 && b[i] > $3 }
		END { exit seen == 0 }' list
done

# After SIGTERM the trace holds all steps; after SIGKILL those that were recorded.  It is valid JSON in both cases.
for sig in TERM KILL; do
	mkfifo pipe
	pworker --net lenet --variant bn --data a.rec --batch 10 --epochs 100000 --trace $sig.json:100000 --frequent 5 >/dev/null 2>pipe &
	exec 8<pipe
	rm pipe
	head -n 12 <&8 >/dev/null
	kill -$sig $!
	wait $! 2>/dev/null
	exec 8<&-
	ok "a run ended by SIG$sig leaves a trace with nested spans" spans $sig.json
	ok "the trace of a run ended by SIG$sig has its steps" test "$(count training 'step [0-9]+' '')" -gt 10
done
done_testing
