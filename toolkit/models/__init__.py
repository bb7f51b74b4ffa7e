"""Loading models and talking to text-completion back ends."""
