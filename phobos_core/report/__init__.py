"""Resources, occupancy, memory map, decisions; text and JSON."""
