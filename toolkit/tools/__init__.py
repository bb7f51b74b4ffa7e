"""What a call runs."""
