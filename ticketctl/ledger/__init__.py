"""The ledger: the rules of the hash chain, agreement with key records, and findings."""
