"""What an editor can do about a diagnostic: from a code to the edits that mend it.

`problem` is a diagnostic with the syntax around it, `trial` finds out what an edit would do, and `table` says which
fixes there are for a code. A fix never leaves a text with what it was made for: what does not help is not offered.
"""
