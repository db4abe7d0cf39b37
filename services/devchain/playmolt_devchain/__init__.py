"""An EVM node for one machine: real blocks and receipts, one transaction a block, mined when it is sent."""
