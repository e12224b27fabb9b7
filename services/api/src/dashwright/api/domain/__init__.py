"""Pure decisions of the gateway: permissions, field ownership, selectors and submissions. No I/O, no clock, no framework."""
