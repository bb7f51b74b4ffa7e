"""How a call is written and found in a byte stream."""
