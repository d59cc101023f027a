"""A kernel tried on the emulator with inputs that nobody gave: whether it does something that it may not do.

`inputs` makes up dimensions, a grid and arguments, `trial` runs the kernel on them in the building process. What the
kernel computes is not looked at: there is nothing to compare it with.
"""
