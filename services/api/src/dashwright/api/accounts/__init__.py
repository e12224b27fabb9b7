"""Use cases on holders of rights: each checks the rules, changes rows and records an audit event in one transaction."""
