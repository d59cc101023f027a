"""What each memory access of a kernel costs, by the addresses in its PTX: banks, sectors, widths; nothing is run."""
