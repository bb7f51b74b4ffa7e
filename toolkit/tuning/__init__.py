"""Prompt, prefix and LoRA tuning over plugin exchanges."""
