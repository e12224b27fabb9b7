"""What the gateway asks for while somebody waits, by RPC: repositories tried and looked at, their files changed, syncs planned."""
