"""The `phobos` command: arguments, files, terminal, exit statuses. What it does lies in the packages below it."""
