"""compile(), Module, Kernel, devices."""
