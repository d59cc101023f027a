"""The language server.

`snapshot` is one version of one file, parsed and checked, which every feature reads; `features` has a module for each
request of the protocol, functions from a snapshot to what the protocol answers; `server` and what stands beside it
receive texts and requests and decide when what is computed.
"""
