"""What runs inside the sandbox's child process. Imports nothing of this package, only the standard library."""
