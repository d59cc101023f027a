"""PTX run on the CPU: what the compiler really emitted."""
