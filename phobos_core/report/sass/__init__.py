"""What the machine code of a kernel is made of, read from its disassembly.

In: the text of nvdisasm. Out: `Code` (loops, instruction mix, live registers, memory accesses), and the listing that
shows each source line beside the instructions it became.
"""
