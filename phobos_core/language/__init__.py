"""What Phobos is, as data: types, operators, built-ins, attributes, targets, diagnostic codes."""
