# recipe - what bench/reproduce and bench/results read in the recipe of a row.

# The file of a row's recipe.
recipe_of() { echo "$TALLY_SHARE/recipes/${1%+*}"; } # ROW

# The epochs of a row's recipe; nothing if it ends after a number of steps.
epochs_of() { # ROW
	grep -q '^pworker --steps' "$(recipe_of "$1")" || sed -n 's/^pworker --epochs //p' "$(recipe_of "$1")" | tail -n 1
}
