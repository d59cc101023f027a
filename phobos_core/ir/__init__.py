"""The tile IR: SSA values, ops, regions; printer, parser, verifier."""
