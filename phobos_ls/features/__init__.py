"""What an editor can ask of a file, one module each: functions from a snapshot and a place to the protocol's answers.

They know nothing of connections, threads or open documents, and may be called from any thread.
"""
