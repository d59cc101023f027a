"""What a build tells of a kernel, found out in a process of its own while one types.

`work` is what that process does, `worker` and `process` are its two ends, `builder` decides what it does when.
`content` says what a build depends on, `shown` where in the text as it is now its lines are. `builds` is what features
ask.
"""
