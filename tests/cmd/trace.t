# trace.t - the time line of a run: JSON whose spans nest, whatever ends the run, and whose rows show what overlaps.
. "$TOP/tests/tap.sh"
PATH=$BUILD/share/demo:$PATH
cd "$T" || exit 1
export OMP_NUM_THREADS=1

pictures images 60 1 && im2rec images >a.rec || exit 1
train="pworker --net lenet --variant bn --data a.rec --batch 10 --epochs 2"

# The spans of a file, one a line: row, name, begin and end in nanoseconds; fails where the file is no JSON, spans of a row
# overlap without one within the other, or what flies does not land.
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

status 0 "a run with its time line" $train --val a.rec --save w --trace one.json
ok "... is JSON whose spans nest" spans one.json
is "$(count training 'step [0-9]+' '')" 12 "... of all steps"
for phase in 'wait for batch' forward backward statistics; do
	is "$(count training "$phase" 'step [0-9]+')" 12 "... each with its $phase"
done
is "$(count training push backward)" 120 "... each gradient's push within backward"
is "$(count training push '.*')" 120 "... and nowhere else"
is "$(count training optimizer push) $(count training optimizer '.*')" "12 12" "... without servers the optimizer within a push"
is "$(count training pull forward) $(count training pull validation)" "110 20" \
	"... each array's pull within forward, where no validation did it before"
is "$(count training validation '') $(count training checkpoint '') $(count checkpoints write '')" "2 2 2" \
	"... validations and checkpoints"
is "$(count layers conv2 '') $(count layers 'fc1 backward' '')" "12 24" "... and layers, by weights and bias backward"
ok "... layers within forward and backward" awk -F '\t' '
	$2 == "forward" || $2 == "backward" { a[$2, n[$2]++] = $3; b[$2, n[$2] - 1] = $4 }
	$1 == "layers" { way = $2 ~ / backward$/ ? "backward" : "forward"; ok = 0
		for (i = 0; i < n[way]; i++) ok += $3 >= a[way, i] && $4 <= b[way, i]
		if (!ok) { print; exit 1 } }' <(sort -t "$(printf '\t')" -k1,1r list)
ok "... weights as without it" sh -c "$train --val a.rec --save v >plain && cmp w-0002.safetensors v-0002.safetensors"

status 0 "three of its steps" $train --trace three.json:5-7
spans three.json
is "$(awk -F '\t' '$2 ~ /^step/ { print $2 }' list | paste -sd,)" "step 5,step 6,step 7" "... those asked for"
status 0 "the first two of another run" $train --resume w-0001.safetensors --trace two.json:2
spans two.json
is "$(awk -F '\t' '$2 ~ /^step/ { print $2 }' list | paste -sd,)" "step 7,step 8" "... by its own count"
status 2 "no steps" $train --trace none.json:0
like "$T/err" '^pworker: --trace: ' "... are refused"
status 2 "steps backward" $train --trace none.json:5-4
status 2 "steps that are none" $train --trace none.json:x
is "$(cat "$T/err")" "pworker: --trace: 'none.json:x' is not FILE, FILE:N or FILE:A-B" "... are told, not taken for a name"
status 2 "no number behind the colon" $train --trace none.json:
status 0 "a name with a colon has the steps behind it" $train --trace odd:x.json:1
ok "... and is the file's" test -s odd:x.json
mkdir a:b
status 0 "a folder's colon is its own" $train --trace a:b/one.json
status 2 "standard output" $train --trace -:3
like "$T/err" '^pworker: --trace: ' "... is the rows'"
status 1 "a file that takes nothing" $train --trace /dev/full
like "$T/err" '^pworker: --trace: /dev/full: No space left' "... is named"
status 1 "a file that cannot be" $train --trace nowhere/one.json
like "$T/err" '^pworker: --trace: nowhere/one\.json: ' "... is named"

status 0 "a job of two workers" dlaunch -n 2 -s 1 -- $train --trace job.json
for w in 0 1; do
	ok "... a file of worker $w" spans job.json.$w
	ok "... its network" test "$(count network '(send|receive|send and receive)' '')" -gt 0
	ok "... slices fly while gradients are still computed" awk -F '\t' '
		$1 == "slices" { a[n] = $3; b[n++] = $4 }
		$2 == "backward" || $2 == "forward" { for (i = 0; i < n; i++) seen += a[i] < $4 && b[i] > $3 }
		END { exit seen == 0 }' list
done

# SIGKILL leaves what was recorded up to then, whole; SIGTERM all of it.
for sig in TERM KILL; do
	mkfifo pipe
	pworker --net lenet --variant bn --data a.rec --batch 10 --epochs 100000 --trace $sig.json:100000 --frequent 5 >/dev/null 2>pipe &
	exec 8<pipe
	rm pipe
	head -n 12 <&8 >/dev/null
	kill -$sig $!
	wait $! 2>/dev/null
	exec 8<&-
	ok "... ended by SIG$sig, a file as any" spans $sig.json
	ok "... of its steps" test "$(count training 'step [0-9]+' '')" -gt 10
done
done_testing
