# epochs.gp - figures by epoch, one below the other: a picture on standard output.
#
# plog(1) sets kind, wide, runs, by, single, validated, have, figures, title, shown and $data in front of this.  The columns of $data:
# at, train accuracy, train loss, validation accuracy, validation loss, seconds, samples/s, load, rx, tx, seconds of
# validation; a block a run.  Sizes below are in pixels of a picture 900 wide.

n = words(figures)
many = runs > 1
drawn = kind ne "text"
dots = many && single && drawn	# a line a run, where no run has two places
has(column) = strstrt(have, sprintf(" %d ", column)) > 0

longest = 0.0
do for [i = 1:runs] { if (strlen(title[i]) > longest) { longest = strlen(title[i]) } }
longest = 7.6 * longest
columns = longest > 400 ? 1 : int(860 / (longest + 60))
named = words(shown)
columns = columns > named ? named : columns
rows = int((named + columns - 1) / columns)

# Pictures of several runs have names in one place: beside the dots, or below all figures.
left = dots ? (longest < 480 ? longest + 40 : 520) : 90
panel = !many ? 420 : dots ? 100 + 20 * runs : 400
below = many && drawn && !dots ? 20 + 20 * rows : 0
high = (many ? 20 : 60) + panel * n + below
if (kind eq "png") { set terminal pngcairo size 900, high font "DejaVu Sans,11" background "white" }
if (kind eq "svg") { set terminal svg size 900, high font "DejaVu Sans,13" background "white" }
if (!drawn) { set terminal dumb wide, 24 + (many ? words(shown) : 0) }

set datafile missing "NaN"
if (drawn) { set grid lt 1 lw 0.5 lc rgb "#cccccc" }
set border 3
set tics nomirror noenhanced
stats $data using 1 nooutput name "at_"
if (!dots) {
	set format x "%h"
	set autoscale xfix
	set offsets graph 0.02, graph 0.02, 0, 0
	set xlabel by
	set xtics autofreq
	if (by eq "epoch" && at_max - at_min <= 15 && drawn) { set xtics autofreq 0,1 }
	# A single place has no range of its own.
	if (at_max == at_min) { set xrange [at_min - 0.5:at_min + 0.5]; set xtics (at_min); set offsets }
}

# Eight colours, and another mark for every eight runs; a hollow one is the number before.
array shade[8] = ["#1b6ca8", "#d1495b", "#3c8d2f", "#edae49", "#7b4ea3", "#00798c", "#8d5524", "#555555"]
array mark[5] = [7, 5, 9, 11, 13]
shade_of(i) = shade[i % 8 + 1]
mark_of(i) = !drawn ? i + 1 : mark[int(i / 8) % 5 + 1]
set key noenhanced top right
if (many && drawn) { set key at graph 1, graph 1 right bottom horizontal }
if (many && !drawn) { set key outside bottom center vertical maxcols 1 }
if (!many && drawn) { set lmargin 10; set rmargin 3 }

# Figure k of a picture of several runs.
place = 'y = panel * k; set lmargin at screen left / 900.0; set rmargin at screen 0.96; \
	set tmargin at screen 1 - (y + 40.0) / high; set bmargin at screen 1 - (y + panel - 40.0) / high'
if (below > 0) {
	do for [j = 0:named - 1] {
		i = int(word(shown, j + 1))
		x = (40 + int(j / rows) * 860.0 / columns) / 900
		y = (10.0 + 20 * (rows - 1 - j % rows)) / high
		set arrow j + 1 from screen x, screen y to screen x + 0.04, screen y nohead lw 2 lc rgb shade_of(i)
		set label j + 1 title[i + 1] at screen x + 0.02, screen y left noenhanced \
			point pt mark_of(i) ps 1 lc rgb shade_of(i) offset character 3.5, 0
	}
}

# Two measures, the first dashed, the second on top of another where on_top says so; or one, when they are the same.
on_top = 0
value_b = '((column(b) + (on_top > 0 ? column(on_top) : 0)) / unit)'
first = ' for [i = 0:runs - 1] $data index i using 1:(column(a) / unit) with linespoints dt 2 pt mark_of(i) - 1 lc rgb shade_of(i)'
second = ' for [i = 0:runs - 1] $data index i using 1:' . value_b . ' with linespoints lw 2 pt mark_of(i) lc rgb shade_of(i)'
which = ', keyentry with linespoints dt 2 pt 6 lc rgb "black" title what_a, \
	keyentry with linespoints lw 2 pt 7 lc rgb "black" title what_b'
dot_a = ' for [i = 0:runs - 1] $data index i using (column(a) / unit):(runs - i) with points pt 6 lc rgb shade[1] notitle'
dot_b = ' for [i = 0:runs - 1] $data index i using ' . value_b . ':(runs - i) with points pt 7 lc rgb shade[1] notitle'
which_dot = ', keyentry with points pt 6 lc rgb shade[1] title what_a, keyentry with points pt 7 lc rgb shade[1] title what_b'
two = 'plot' . (dots ? dot_a . ',' . dot_b . which_dot : \
	!many ? first . ' title what_a,' . second . ' title what_b' : first . ' notitle,' . second . ' notitle' . which)
one = 'on_top = 0; b = a; plot' . (dots ? dot_b : second . (many && !drawn ? ' title title[i + 1]' : ' notitle'))
alone = 'on_top = 0; a = has(b) ? b : a; ' . one

# Runs that are far apart share no linear scale.
far = 'if (many && drawn && has(b)) { stats $data using b nooutput name "b_"; \
	if (b_min > 0 && b_max > 100 * b_min) { low = "*"; if (dots) { set logscale x } else { set logscale y } } }'

k = 0
if (drawn) { if (many) { set multiplot } else { set multiplot layout n, 1 } }
do for [figure in figures] {
	if (many && drawn) { eval(place) }
	unset logscale
	set yrange [*:*]
	if (dots) { set xrange [*:*] }
	unit = 1.0
	low = "0"
	top = "*"
	corner = "top"
	if (figure eq "accuracy") {
		what = "accuracy"; top = "1"; corner = "bottom"
		a = 2; b = 4; what_a = "train"; what_b = "validation"
	}
	if (figure eq "loss") {
		what = "loss"
		a = 3; b = 5; what_a = "train"; what_b = "validation"
	}
	if (figure eq "time") {
		what = by eq "step" ? "seconds a step" : "seconds an epoch"; corner = "bottom"
		a = 6; b = 6; what_a = "training"; what_b = "with validation"
		eval(far)
		if (validated) { b = 11; on_top = 6 }
	}
	if (figure eq "speed") {
		what = "samples/s"
		a = 7; b = 7
		eval(far)
	}
	if (figure eq "traffic") {
		# Whole numbers of the unit at the axis, not of bytes.
		stats $data using (dots || column(1) >= 0 ? (column(9) > column(10) ? column(9) : column(10)) : NaN) nooutput name "most_"
		power = most_max >= 1024 ? int(log(most_max) / log(1024)) : 0
		unit = 1024.0 ** power
		what = word("B KiB MiB GiB TiB PiB EiB", power + 1) . (by eq "step" ? " since the step before" : " an epoch")
		corner = "bottom"
		a = 9; b = 10; what_a = "rx"; what_b = "tx"
		eval(far)
	}
	if (!many) { if (corner eq "top") { set key top right } else { set key bottom right } }
	# The values stand upright, or along the dots.
	eval(sprintf("set %srange [%s:%s]", dots ? "x" : "y", low, top))
	if (dots) {
		set xlabel what . (at_max == at_min ? sprintf(" (%s %g)", by, at_min) : "")
		set format x low eq "*" ? "%g" : "%h"
		set yrange [0.3:runs + 0.7]
		set ytics ("" 0)
		do for [i = 1:runs] { set ytics add (title[i] runs + 1 - i) }
	} else {
		set ylabel what
		set format y low eq "*" ? "%g" : "%h"
	}
	if (a == b) { eval(one) } else { if (many && (!drawn || !has(a) || !has(b))) { eval(alone) } else { eval(two) } }
	on_top = 0
	unset label
	unset arrow
	k = k + 1
}
if (drawn) { unset multiplot }
