"""ptxas and friends: found, called, parsed."""
